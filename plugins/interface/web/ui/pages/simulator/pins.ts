/** Lines of the board: what the device drives is a lamp, what it reads is a switch. */
import { html } from 'htm/preact';
import { api } from '../../core/api.ts';
import { isOperator } from '../../core/session.ts';
import { useAsk } from '../../parts/ask.ts';
import { Button, tellError } from '../../parts/button.ts';
import { Card, Empty } from '../../parts/frame.ts';
import type { Bridge, Line } from './shapes.ts';
import { text } from './text.ts';

interface Handles {
  readonly handles: readonly { readonly name: string; readonly endpoint?: string; readonly line: number }[];
}
interface Place {
  readonly endpoint: string;
  readonly number: number;
  readonly line: Line;
}

const placesOf = (bridge: Bridge | undefined): readonly Place[] =>
  (bridge?.endpoints ?? []).flatMap(({ label, lines = [] }) =>
    lines.map((line, number) => ({ endpoint: label, number, line })),
  );

/** Lines that the device drives. */
export const lampsOf = (bridge: Bridge | undefined) =>
  placesOf(bridge)
    .filter(({ line }) => line.direction !== 'in')
    .map(({ endpoint, number, line }) => ({
      name: `${endpoint}-${number}`,
      on: line.level === 1,
      label: text(line.level === 1 ? 'lampOn' : 'lampOff', { line: String(number) }),
    }));

export function Pins({ bridge }: { bridge: Bridge | undefined }) {
  const named = useAsk<Handles>('/gpio/handles');
  const nameOf = ({ endpoint, number }: Place) =>
    named.data?.handles.find((one) => one.line === number && (one.endpoint ?? endpoint) === endpoint)?.name;
  const places = placesOf(bridge);
  const lamps = places.filter(({ line }) => line.direction !== 'in');
  // Lines with a name are what somebody uses; of the others those that are driven.
  const switches = places.filter((one) => one.line.direction === 'in' && (nameOf(one) || one.line.outside !== null));
  const others = places.filter((one) => one.line.direction === 'in' && !switches.includes(one));
  const driven = places.filter(({ line }) => line.outside !== null);
  const drive = ({ endpoint, number }: Place, level: 0 | 1 | null) =>
    api.post('/sim/drive', { endpoint, line: number, level }).catch(tellError);
  const release = async () => {
    for (const one of driven) await drive(one, null);
  };
  const label = (one: Place) => nameOf(one) ?? text('switch', { line: String(one.number) });
  const one = (place: Place) =>
    html`<li key=${`${place.endpoint}-${place.number}`}><button type="button" class=${`sim-switch ${place.line.level === 1 ? 'on' : ''}`} role="switch" aria-checked=${place.line.level === 1} disabled=${!isOperator()} onClick=${() => drive(place, place.line.level === 1 ? 0 : 1)}><span class="sim-knob" aria-hidden="true"></span><span>${label(place)}</span><small>${place.endpoint}.${place.number}</small></button></li>`;
  return html`<${Card} title=${text('pins')} aside=${driven.length > 0 && html`<${Button} kind="quiet" writes=${true} onClick=${release}>${text('release')}<//>`}><p class="note">${text('pinsHint')}</p>${places.length === 0 ? html`<${Empty} title=${text('noPins')} />` : html`<ul class="sim-pins">${lamps.map((place) => html`<li key=${`${place.endpoint}-${place.number}`}><div class=${`sim-lamp ${place.line.level === 1 ? 'on' : ''}`}><span class="sim-bulb" aria-hidden="true"></span><span>${label(place)}<span class="unseen">: ${text(place.line.level === 1 ? 'lampOn' : 'lampOff', { line: String(place.number) })}</span></span><small>${place.endpoint}.${place.number}</small></div></li>`)}${switches.map(one)}</ul>${others.length > 0 && html`<details class="sim-more"><summary>${text('moreLines', { n: others.length })}</summary><ul class="sim-pins">${others.map(one)}</ul></details>`}`}<//>`;
}
