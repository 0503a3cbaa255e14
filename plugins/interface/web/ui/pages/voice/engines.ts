/** Microphone, speaker, and what hears and speaks. */
import { html } from 'htm/preact';
import { useRef, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { percentText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { type Asked, useAsk, useEvents } from '../../parts/ask.ts';
import { tellError } from '../../parts/button.ts';
import { SliderField, ToggleField } from '../../parts/field.ts';
import { Answer, Badge, Card, Facts, Problem } from '../../parts/frame.ts';
import type { AudioNow } from './shapes.ts';
import { words } from './text.ts';

const KINDS = ['vad', 'wake', 'stt', 'tts'] as const;

interface Engine {
  readonly kind: (typeof KINDS)[number];
  readonly id: string;
  readonly title: string;
  readonly owner: string;
  readonly stage: 'local' | 'cloud';
  readonly languages: readonly string[];
  readonly uses: number;
  readonly failures: number;
  readonly problem?: string;
}
interface Component {
  readonly status: string;
  readonly code?: string;
  readonly message?: string;
}

/** Parts of the health that say why somebody cannot hear or speak. */
const VOICES = /^(?:voice|audio|speech|intent|stt|tts|vad|wake|sherpa|soundswallower|wyoming|aec)/;

export function Ears({ audio }: { audio: Asked<AudioNow> }) {
  const [volume, setVolume] = useState<number | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const change = (value: number) => {
    setVolume(value);
    clearTimeout(timer.current);
    // Not one request for each pixel.
    timer.current = setTimeout(() => {
      api.put('/audio/volume', { volume: value }).then(() => {
        setVolume(undefined);
        audio.reload();
      }, tellError);
    }, 250);
  };
  const mute = (muted: boolean) => void api.put('/voice/mute', { muted }).then(audio.reload, tellError);
  return html`<${Card} title=${words('earAndMouth')}><${Answer} of=${audio}>${(now: AudioNow) =>
    html`<${ToggleField} label=${words('mute')} hint=${words('muteHint')} value=${now.muted} disabled=${!isOperator()} onChange=${mute} /><${SliderField} label=${words('volume')} min=${0} max=${1} step=${0.05} value=${volume ?? now.volume} shown=${percentText(volume ?? now.volume, 0)} disabled=${!isOperator()} onInput=${change} /><${Facts} rows=${[
      [
        words('hears'),
        now.capturing.length === 0
          ? words('nothing')
          : now.capturing.map((one) => html`<code key=${one}>${one}</code> `),
      ],
      [
        words('plays'),
        now.playing.length === 0
          ? words('nothing')
          : now.playing.map(({ owner }) => html`<code key=${owner}>${owner}</code> `),
      ],
    ]} />${now.problem && html`<${Problem} error=${new Error(now.problem)} />`}`}<//><//>`;
}

export function Engines() {
  const engines = useAsk<{ engines: readonly Engine[] }>('/speech/engines');
  const health = useAsk<{ components?: Readonly<Record<string, Component>> }>('/health');
  useEvents(
    ['system.plugin.**'],
    () => {
      engines.reload();
      health.reload();
    },
    1000,
  );
  const missing = Object.entries(health.data?.components ?? {}).filter(
    ([id, { status }]) => VOICES.test(id) && status !== 'okay',
  );
  const engine = (one: Engine, first: boolean) =>
    html`<li key=${one.id} class="engine"><div><strong>${one.title}</strong> <code>${one.id}</code></div><div class="row">${first && one.problem === undefined && html`<${Badge} level="okay">${words('inUse')}<//>`}<${Badge} level=${one.stage === 'cloud' ? 'warn' : 'quiet'}>${words(one.stage === 'cloud' ? 'inCloud' : 'onDevice')}<//>${one.languages.length > 0 && html`<span class="note">${one.languages.length > 4 ? words('languages', { n: one.languages.length }) : one.languages.join(', ')}</span>`}<span class="note">${words('uses', { n: one.uses })}</span>${one.failures > 0 && html`<${Badge} level="warn">${words('failures', { n: one.failures })}<//>`}</div>${one.problem && html`<p class="note wrong-text">${one.problem}</p>`}</li>`;
  return html`<${Answer} of=${engines}>${(data: NonNullable<typeof engines.data>) =>
    html`<div class="grid">${KINDS.map((kind) => {
      const list = data.engines.filter((one) => one.kind === kind);
      const best = list.find(({ problem }) => problem === undefined);
      return html`<${Card} key=${kind} title=${words(`kind-${kind}`)} aside=${list.length === 0 ? html`<${Badge} level="error">${words('noEngine')}<//>` : null}><p class="note">${words(`kindLead-${kind}`)}</p>${list.length > 0 && html`<ul class="stack">${list.map((one) => engine(one, one === best))}</ul>`}<//>`;
    })}</div>`}<//>${missing.length > 0 && html`<${Card} title=${words('missing')}><ul class="stack">${missing.map(([id, { code, message }]) => html`<li key=${id}><strong>${id}</strong> ${code && html`<code>${code}</code> `}<span>${message}</span></li>`)}</ul><//>`}`;
}
