/** Recorded scenarios, to be played again. */

import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { durationText } from '../../core/format.ts';
import { useAsk } from '../../parts/ask.ts';
import { Button, tellError } from '../../parts/button.ts';
import { TextField } from '../../parts/field.ts';
import { chosenFile, download } from '../../parts/file.ts';
import { Answer, Badge, Card } from '../../parts/frame.ts';
import { tell } from '../../parts/toast.ts';
import type { Stage } from './shapes.ts';
import { text } from './text.ts';

interface Listed {
  readonly scenarios: readonly Scenario[];
}
interface Scenario {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly steps?: number;
  readonly ms?: number;
  readonly shipped: boolean;
  readonly problem?: string;
}

const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const LAST = { done: ['lastDone', 'okay'], failed: ['lastFailed', 'error'], stopped: ['lastStopped', 'warn'] } as const;

export function Scenarios({ stage }: { stage: Stage }) {
  const list = useAsk<Listed>('/sim/scenarios');
  const busy = stage.recording !== undefined || stage.playing !== undefined;
  // A recording of somebody else, by devicectl, is in the list, too.
  const recording = stage.recording?.name;
  useEffect(() => {
    if (recording === undefined) list.reload();
  }, [recording]);
  const picker = useRef<HTMLInputElement>(null);
  const keep = async (file: File | undefined) => {
    if (file === undefined) return;
    const yaml = await file.text();
    const name = /^name:\s*["']?([a-z][a-z0-9-]*)/m.exec(yaml)?.[1] ?? 'scenario';
    await api.put(`/sim/scenarios/${name}`, { yaml });
    tell(text('kept', { name }));
    list.reload();
  };
  const add = html`<input ref=${picker} type="file" accept=".yaml,.yml" hidden aria-label=${text('keep')} onChange=${(event: Event) => void keep(chosenFile(event)).catch(tellError)} /><${Button} kind="quiet" icon="upload" writes=${true} onClick=${() => picker.current?.click()}>${text('keep')}<//>`;
  return html`<${Card} title=${text('scenarios')} aside=${add}><p class="note">${text('scenariosHint')}</p><${Now} stage=${stage} /><${Answer} of=${list}>${(data: Listed) => html`<ul class="sim-scenarios">${data.scenarios.map((one) => html`<${Row} key=${one.name} of=${one} busy=${busy} changed=${list.reload} />`)}</ul>`}<//><//>`;
}

/** The running recording or playback, or a form to begin one. */
function Now({ stage: { recording, playing, last } }: { stage: Stage }) {
  const [name, setName] = useState('');
  const wrong = name !== '' && !NAME.test(name) ? text('nameHint') : undefined;
  const stop = async () => {
    const { recorded } = await api.post<{ recorded?: string }>('/sim/stop');
    if (recorded !== undefined) tell(text('recorded', { name: recorded }));
  };
  const record = async () => {
    await api.post('/sim/record', { name });
    setName('');
  };
  if (recording)
    return html`<div class="sim-now recording"><p role="status"><span class="sim-dot" aria-hidden="true"></span>${text('recording', { name: recording.name, n: recording.steps })}${recording.full && html` <span class="note">${text('full')}</span>`}</p><${Button} kind="main" icon="stop" writes=${true} onClick=${stop}>${text('stopRecord')}<//></div>`;
  if (playing)
    return html`<div class="sim-now"><p role="status">${text('playing', playing)}<progress max=${playing.of} value=${playing.step} aria-label=${text('playing', playing)}></progress></p><${Button} icon="stop" writes=${true} onClick=${stop}>${text('stopPlay')}<//></div>`;
  return html`<form class="sim-now" onSubmit=${(event: Event) => event.preventDefault()}><${TextField} label=${text('name')} hint=${wrong ? undefined : text('nameHint')} error=${wrong} value=${name} onInput=${setName} /><${Button} type="submit" icon="record" writes=${true} disabled=${name === '' || wrong !== undefined} onClick=${record}>${text('record')}<//></form>${last && html`<p class="sim-last" role="status"><${Badge} level=${LAST[last.result][1]}>${text(LAST[last.result][0], { name: last.name })}<//>${last.result === 'failed' && html` <span class="note">${last.reason}</span>`}</p>`}`;
}

function Row({ of: one, busy, changed }: { of: Scenario; busy: boolean; changed: () => void }) {
  const { name, title, description, steps = 0, ms = 0, shipped, problem } = one;
  const keepHere = async () => {
    const { yaml } = await api.get<{ yaml: string }>(`/sim/scenarios/${name}`);
    download(`${name}.yaml`, yaml, 'application/yaml');
  };
  const remove = async () => {
    await api.delete(`/sim/scenarios/${name}`);
    changed();
  };
  return html`<li><${Button} kind="normal" icon="play" label=${text('play', { name })} writes=${true} disabled=${busy || problem !== undefined} onClick=${() => api.post('/sim/play', { name })} /><div><strong>${title ?? name}</strong><p class="note">${problem ?? description ?? name}</p><p class="note">${text('steps', { n: steps })} · ${durationText(ms)}${shipped && ` · ${text('shipped')}`}</p></div><div class="actions"><${Button} kind="quiet" icon="copy" label=${text('download', { name })} onClick=${keepHere} />${!shipped && html`<${Button} kind="quiet" icon="trash" label=${text('remove', { name })} writes=${true} onClick=${remove} />`}</div></li>`;
}
