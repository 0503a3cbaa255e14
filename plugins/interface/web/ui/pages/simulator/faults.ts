/** Everything that can be broken by hand. */
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { api } from '../../core/api.ts';
import { durationText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { Button, tellError } from '../../parts/button.ts';
import { SliderField, ToggleField } from '../../parts/field.ts';
import { Card } from '../../parts/frame.ts';
import { tell } from '../../parts/toast.ts';
import { type Bridge, type Endpoint, NOISE, noiseText, type State } from './shapes.ts';
import { useSlide } from './surroundings.ts';
import { text } from './text.ts';

const HOUR_MS = 3_600_000;
const ALL_GONE = null;

export function Faults({ state: { bridge } }: { state: State }) {
  if (bridge === undefined) return null;
  return html`<${Card} title=${text('faults')}><p class="note">${text('faultsHint')}</p><div class="sim-faults"><${Wire} bridge=${bridge} /><${Buses} bridge=${bridge} /><${Slow} bridge=${bridge} /></div><//>`;
}

const does = (control: string, params: object = {}) => api.post(`/sim/${control}`, params);

function Toggle(props: {
  label: string;
  hint?: ComponentChildren;
  value: boolean;
  act: (on: boolean) => Promise<unknown>;
}) {
  return html`<${ToggleField} label=${props.label} hint=${props.hint} value=${props.value} disabled=${!isOperator()} onChange=${(on: boolean) => props.act(on).catch(tellError)} />`;
}

/** A one-time fault. */
function Deed(props: { label: string; hint: string; act: () => Promise<unknown> }) {
  const act = async () => {
    await props.act();
    tell(text('done'), 'warn');
  };
  return html`<div class="sim-deed"><${Button} kind="danger" writes=${true} onClick=${act}>${props.label}<//><p class="note">${props.hint}</p></div>`;
}

function Wire({ bridge }: { bridge: Bridge }) {
  const rate = bridge.faults.bitErrorRate ?? 0;
  const nearest = NOISE.reduce<number>((best, one, index) => (one <= rate * 1.001 ? index : best), 0);
  const [noise, setNoise] = useSlide(nearest, (index) =>
    does('faults', { bitErrorRate: NOISE[Math.round(index)] ?? 0 }),
  );
  const silence = (on: boolean) => does('silence', { ms: on ? HOUR_MS : 0 });
  return html`<div class="stack"><${SliderField} label=${text('noise')} hint=${text('noiseHint')} value=${noise} min=${0} max=${NOISE.length - 1} step=${1} shown=${noiseText(NOISE[Math.round(noise)] ?? 0)} disabled=${!isOperator()} onInput=${setNoise} /><${Toggle} label=${text('silence')} hint=${text('silenceHint')} value=${bridge.silent} act=${silence} /><${Toggle} label=${text('mute')} hint=${text('muteHint')} value=${bridge.muted} act=${(muted: boolean) => does('mute', { muted })} /><${Deed} label=${text('crash')} hint=${text('crashHint')} act=${() => does('crash', { ms: 500 })} /><${Deed} label=${text('die')} hint=${text('dieHint')} act=${() => does('die')} /><${Toggle} label=${text('major')} hint=${text('majorHint')} value=${bridge.major !== 1} act=${(on: boolean) => does('major', { version: on ? 2 : 1 })} /></div>`;
}

function Buses({ bridge }: { bridge: Bridge }) {
  const rows = bridge.endpoints.flatMap((one) => [
    ...(one.chips ? [stuckOf(one)] : []),
    ...(one.broken === undefined ? [] : [shortOf(one)]),
  ]);
  return html`<div class="stack">${rows}<div><h3>${text('chips')}</h3><p class="note">${text('chipHint')}</p></div>${bridge.endpoints.flatMap(chipsOf)}</div>`;
}

const stuckOf = ({ label: endpoint, stuck }: Endpoint) =>
  html`<${Toggle} key=${endpoint} label=${text('stuck', { name: endpoint })} hint=${text('stuckHint')} value=${stuck !== 0} act=${(on: boolean) => does('stick', { endpoint, recoveries: on ? ALL_GONE : 0 })} />`;

const shortOf = ({ label: endpoint, broken }: Endpoint) =>
  html`<${Toggle} key=${endpoint} label=${text('short', { name: endpoint })} value=${broken} act=${(on: boolean) => does('short', { endpoint, broken: on })} />`;

const chipsOf = ({ label: endpoint, chips = [] }: Endpoint) =>
  chips.map(({ address, kind, there }) => {
    const label = text('chip', { kind: kind.toUpperCase(), address: `0x${address.toString(16)}`, bus: endpoint });
    const act = (on: boolean) => does('plug', { endpoint, address, there: on });
    return html`<${Toggle} key=${`${endpoint}-${address}`} label=${label} value=${there} act=${act} />`;
  });

function Slow({ bridge }: { bridge: Bridge }) {
  return html`<div class="stack"><div><h3>${text('slow')}</h3><p class="note">${text('slowHint')}</p></div>${bridge.endpoints.map((one) => html`<${SlowOne} key=${one.label} of=${one} />`)}</div>`;
}

function SlowOne({ of: { label, slowMs } }: { of: Endpoint }) {
  const [ms, set] = useSlide(slowMs, (next) => does('slow', { endpoint: label, ms: Math.round(next) }));
  return html`<${SliderField} label=${label} value=${ms} min=${0} max=${2_000} step=${20} shown=${durationText(ms)} disabled=${!isOperator()} onInput=${set} />`;
}
