import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import type { PageProps } from '../../core/route.ts';
import { sheet, useFollow } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Badge, Head, Loading, Problem } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { tell } from '../../parts/toast.ts';
import { Faults } from './faults.ts';
import { Pins } from './pins.ts';
import { Reader } from './reader.ts';
import { Scenarios } from './scenarios.ts';
import { faultsOf, type State } from './shapes.ts';
import { Sound } from './sound.ts';
import { Around, Sensors } from './surroundings.ts';
import { text } from './text.ts';
import { Unit } from './unit.ts';

export function Page({ title }: PageProps) {
  sheet('pages/simulator/simulator.css');
  const [state, setState] = useState<State | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useFollow(
    'sim.watch',
    {},
    { item: ({ data }) => setState(data as State), closed: (thrown) => thrown && setError(thrown) },
  );
  const faults = state && faultsOf(state);
  const heal = async () => {
    await api.post('/sim/heal');
    tell(text('healed'));
  };
  return html`<${Head} title=${title} lead=${text('lead')} />${error !== undefined && html`<${Problem} error=${error} />`}${state === undefined ? error === undefined && html`<${Loading} />` : html`<div class=${`sim-health ${faults!.length > 0 ? 'ill' : ''}`} role="status"><${Icon} name=${faults!.length > 0 ? 'warn' : 'check'} size=${22} /><div><strong>${faults!.length > 0 ? text('faultsOne', { n: faults!.length }) : text('well')}</strong>${faults!.length > 0 && html`<ul class="sim-ills">${faults!.map((one) => html`<li key=${one}><${Badge} level="warn">${one}<//></li>`)}</ul>`}</div>${faults!.length > 0 && html`<${Button} kind="main" writes=${true} onClick=${heal}>${text('heal')}<//>`}</div>${state.bridge === undefined && html`<p class="banner" role="status">${text('away')}</p>`}<div class="sim-page"><div class="sim-main"><${Unit} state=${state} /><${Pins} bridge=${state.bridge} /><${Sound} /></div><div class="sim-side"><${Around} state=${state} /><${Sensors} bridge=${state.bridge} /><${Reader} bridge=${state.bridge} /></div></div><${Faults} state=${state} /><${Scenarios} stage=${state.scenario} />`}`;
}
