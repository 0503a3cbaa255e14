/** Surroundings of the device: people, network, power, weather. */
import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { numberText, percentText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { tellError } from '../../parts/button.ts';
import { Choice, SliderField, ToggleField } from '../../parts/field.ts';
import { Card, Empty } from '../../parts/frame.ts';
import type { Bridge, Network, Power, State } from './shapes.ts';
import { text } from './text.ts';

/** At most one request in so many milliseconds while somebody moves a slider. */
const SLIDE_MS = 250;

/** A value that is shown at once and sent now and then; what the device says counts when nobody moves it. */
export function useSlide(
  value: number,
  send: (value: number) => Promise<unknown>,
): readonly [number, (value: number) => void] {
  const [shown, setShown] = useState<number | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const wanted = useRef<number | undefined>(undefined);
  const latest = useRef(send);
  latest.current = send;
  // The last chosen value is sent, too, when the page is left.
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      if (wanted.current !== undefined) void latest.current(wanted.current).catch(tellError);
    },
    [],
  );
  useEffect(() => {
    if (timer.current === undefined) setShown(undefined);
  }, [value]);
  const flush = async () => {
    const now = wanted.current!;
    wanted.current = undefined;
    await latest.current(now).catch((error) => {
      setShown(undefined);
      tellError(error);
    });
    timer.current = undefined;
    if (wanted.current !== undefined) later();
  };
  const later = () => {
    timer.current ??= setTimeout(() => void flush(), SLIDE_MS);
  };
  return [
    shown ?? value,
    (next) => {
      setShown(next);
      wanted.current = next;
      later();
    },
  ];
}

export function Around({ state }: { state: State }) {
  const { network = { state: 'online' }, power = { source: 'mains' } } = state;
  const still = !isOperator();
  const moving = state.bridge?.endpoints.find(({ label }) => label === 'gpio0')?.lines?.[20]?.outside === 1;
  const tellNetwork = (change: Partial<Network>) => {
    const next = { ...network, ...change };
    return api.post('/sim/network', { ...next, type: next.state === 'offline' ? 'none' : 'wifi' }).catch(tellError);
  };
  const tellPower = (change: Partial<Power>) => {
    const { level = 0.8, ...rest }: Power = { ...power, ...change };
    const low = rest.source === 'battery' && rest.state !== 'charging';
    const charge = low ? (level <= 0.05 ? 'critical' : level <= 0.15 ? 'low' : 'ok') : (rest.state ?? 'ok');
    return api.post('/sim/power', { source: rest.source, level, state: charge });
  };
  const [level, setLevel] = useSlide(power.level ?? 0.8, (value) => tellPower({ level: value }));
  const networks = (['online', 'local', 'offline'] as const).map((one) => [one, text(one)] as const);
  const sources = (['mains', 'battery'] as const).map((one) => [one, text(one)] as const);
  return html`<${Card} title=${text('around')}><${ToggleField} label=${text('nearby')} value=${moving} disabled=${still} onChange=${(on: boolean) => api.post('/sim/presence', { moving: on }).catch(tellError)} /><div class="sim-row"><span>${text('network')}</span><fieldset class="plain" disabled=${still}><${Choice} label=${text('network')} value=${network.state} options=${networks} onChange=${(next: Network['state']) => tellNetwork({ state: next })} /></fieldset></div><${ToggleField} label=${text('metered')} value=${network.metered ?? false} disabled=${still} onChange=${(metered: boolean) => tellNetwork({ metered })} /><div class="sim-row"><span>${text('power')}</span><fieldset class="plain" disabled=${still}><${Choice} label=${text('power')} value=${power.source} options=${sources} onChange=${(source: Power['source']) => tellPower({ source, state: 'ok' }).catch(tellError)} /></fieldset></div>${power.source === 'battery' && html`<${SliderField} label=${text('level')} value=${level} min=${0} max=${1} step=${0.01} shown=${percentText(level, 0)} disabled=${still} onInput=${setLevel} /><${ToggleField} label=${text('charging')} value=${power.state === 'charging'} disabled=${still} onChange=${(on: boolean) => tellPower({ state: on ? 'charging' : 'ok' }).catch(tellError)} />`}<//>`;
}

const SENSES = [
  ['temperature', '°C', -40, 85, 0.1],
  ['humidity', '%', 0, 100, 1],
  ['pressure', 'hPa', 300, 1100, 1],
] as const;

export function Sensors({ bridge }: { bridge: Bridge | undefined }) {
  const chips = (bridge?.endpoints ?? []).flatMap(({ label, chips: all = [] }) =>
    all.filter(({ kind }) => kind === 'bme280').map((chip) => ({ ...chip, endpoint: label })),
  );
  return html`<${Card} title=${text('sensors')}>${chips.length === 0 ? html`<${Empty} title=${text('noSensors')} />` : chips.map((chip) => html`<div key=${`${chip.endpoint}-${chip.address}`} class="stack">${SENSES.map(([name, unit, min, max, step]) => html`<${Sense} key=${name} place=${{ endpoint: chip.endpoint, address: chip.address }} name=${name} unit=${unit} min=${min} max=${max} step=${step} value=${Number(chip.senses?.[name] ?? 0)} />`)}</div>`)}<//>`;
}

function Sense(props: {
  readonly place: { readonly endpoint: string; readonly address: number };
  readonly name: 'temperature' | 'humidity' | 'pressure';
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: number;
}) {
  const { place, name, unit, min, max, step } = props;
  const [value, set] = useSlide(props.value, (next) => api.post('/sim/weather', { ...place, [name]: next }));
  return html`<${SliderField} label=${text(name)} value=${value} min=${min} max=${max} step=${step} shown=${`${numberText(value)} ${unit}`} disabled=${!isOperator()} onInput=${set} />`;
}
