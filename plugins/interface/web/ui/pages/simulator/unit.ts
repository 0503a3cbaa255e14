/** The device itself: its screen, its keys, its lamps. */
import { html } from 'htm/preact';
import { api } from '../../core/api.ts';
import { Button } from '../../parts/button.ts';
import { Card } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { offered } from '../../parts/offered.ts';
import { DeviceScreen } from '../../parts/screen.ts';
import { lampsOf } from './pins.ts';
import type { State } from './shapes.ts';
import { text } from './text.ts';

const KEYS = [
  ['home', 'keyHome'],
  ['back', 'keyBack'],
  ['ok', 'keyOk'],
  ['mute', 'keyMute'],
] as const;

export function Unit({ state }: { state: State }) {
  const paths = offered.value;
  const has = (path: string) => paths?.has(path) ?? false;
  const lamps = lampsOf(state.bridge);
  const { plugged } = state.panel;
  const cable = () => api.post('/sim/cable', { plugged: !plugged });
  return html`<${Card} class="sim-unit" label=${text('screen')}><div class="sim-body">${has('/display') ? html`<${DeviceScreen} label=${text('screen')} touches="/sim/touch" dark=${!plugged}>${!plugged && html`<div class="device-says"><${Icon} name="warn" size=${30} /><p>${text('noScreen')}</p></div>`}<//>` : null}<ul class="sim-lamps">${lamps.slice(0, 8).map(({ name, on, label }) => html`<li key=${name} class=${on ? 'on' : ''}><span aria-hidden="true"></span><span class="unseen">${label}</span></li>`)}</ul></div><div class="sim-keys" role="group" aria-label=${text('keys')}>${has('/display/input/key') && KEYS.map(([name, label]) => html`<${Button} key=${name} writes=${true} onClick=${() => api.post('/sim/key', { name })}>${text(label)}<//>`)}${has('/panel/plug') && html`<${Button} kind="quiet" writes=${true} onClick=${cable}>${plugged ? text('pull') : text('plugBack')}<//>`}</div><//>`;
}
