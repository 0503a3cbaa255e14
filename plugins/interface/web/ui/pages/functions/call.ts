/** One call after the other: its form, what came of it, and how long that took. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { durationText } from '../../core/format.ts';
import { errorsOf } from '../../form/errors.ts';
import { Form } from '../../form/form.ts';
import { Button, Copy } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { TextField, ToggleField } from '../../parts/field.ts';
import { Badge, Card, Problem } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { common } from '../../parts/text.ts';
import { Tree } from '../../parts/tree.ts';
import { hasMembers } from './catalog.ts';
import { type Lines, RUN } from './lines.ts';
import { words } from './text.ts';
import type { Schema } from './types.ts';

export type Values = Readonly<Record<string, unknown>>;

export type Outcome = { readonly ms: number } & ({ readonly value: unknown } | { readonly error: unknown });

/** Calls and takes the time. */
export async function timed(call: () => Promise<unknown>): Promise<Outcome> {
  const began = performance.now();
  try {
    const value = await call();
    return { value, ms: performance.now() - began };
  } catch (error) {
    return { error, ms: performance.now() - began };
  }
}

export function CallCard(props: {
  readonly name: string;
  readonly schema: Schema;
  readonly values: Values;
  readonly onChange: (values: Values) => void;
  /** It changes the device: viewers cannot. */
  readonly writes: boolean;
  readonly asks: boolean;
  readonly label: string;
  readonly run: () => Promise<unknown>;
  readonly outcome: Outcome | undefined;
}) {
  const { name, schema, values, outcome } = props;
  const [whole, setWhole] = useState(true);
  const [asking, setAsking] = useState(false);
  const errors = outcome !== undefined && 'error' in outcome && hasMembers(schema) ? fieldErrors(outcome.error) : [];
  const go = () => {
    setAsking(false);
    return props.run();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (whole) void (props.asks ? setAsking(true) : go());
  };
  return html`<${Card} title=${words('inputs')}><form class="stack" onSubmit=${submit}>${
    hasMembers(schema)
      ? html`<${Form} schema=${schema} value=${values} quiet label=${words('inputs')} errors=${errors} onChange=${(
          value: Values | undefined,
          fits: boolean,
        ) => {
          props.onChange(value ?? {});
          setWhole(fits);
        }} />`
      : html`<p class="note">${words('noInputs')}</p>`
  }<div class="actions"><${Button} kind=${props.asks ? 'danger' : 'main'} icon="play" writes=${props.writes} disabled=${!whole} onClick=${() => (props.asks ? setAsking(true) : go())}>${props.label}<//></div></form>${
    asking &&
    html`<${Dialog} title=${words('sure', { name })} onClose=${() => setAsking(false)} actions=${html`<${Button} onClick=${() => setAsking(false)}>${common('cancel')}<//><${Button} kind="danger" onClick=${go}>${props.label}<//>`}><p>${words('sureLead')}</p><//>`
  }<//>`;
}

/** Only what names a member stands at a field; the rest is said once, below. */
const fieldErrors = (error: unknown) => errorsOf(error).filter(({ at }) => at !== '');

export function OutcomeCard({ outcome }: { outcome: Outcome | undefined }) {
  const [raw, setRaw] = useState(false);
  if (outcome === undefined) return null;
  const took = html`<span class="note" role="status">${words('took', { time: durationText(outcome.ms) })}</span>`;
  if ('error' in outcome)
    return html`<${Card} title=${words('answer')} aside=${took}><${Problem} error=${outcome.error} /><//>`;
  const shown = without(outcome.value);
  const text = JSON.stringify(outcome.value, null, 2) ?? '';
  const nothing = typeof shown === 'object' && shown !== null && Object.keys(shown).length === 0;
  return html`<${Card} title=${words('answer')} aside=${html`<div class="row"><${Badge} level="okay">${common('done')}<//>${took}</div>`}>${nothing ? html`<p>${words('empty')}</p>` : raw ? html`<pre class="answer-raw" tabindex="0">${cut(text)}</pre>` : html`<div class="answer-tree" tabindex="0"><${Tree} value=${shown} label=${words('answer')} /></div>`}<div class="row"><${ToggleField} label=${words('raw')} value=${raw} onChange=${setRaw} /><${Copy} text=${text} label=${words('copyAnswer')} /></div><//>`;
}

/** `ok` says nothing that one does not see. */
function without(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { ok: _, ...rest } = value as Record<string, unknown>;
  return rest;
}

const MOST_RAW = 100_000;
const cut = (text: string): string => (text.length > MOST_RAW ? `${text.slice(0, MOST_RAW)}…` : text);

const KEY = 'device.run';

export function useRun(): readonly [string, (run: string) => void] {
  const [run, setRun] = useState(() => localStorage.getItem(KEY) ?? RUN);
  const keep = (next: string) => {
    localStorage.setItem(KEY, next);
    setRun(next);
  };
  return [run, keep];
}

export function LinesCard({ lines, run, onRun }: { lines: Lines; run: string; onRun: (run: string) => void }) {
  const line = (what: string, text: string | undefined) =>
    text !== undefined &&
    html`<div class="line" key=${what}><h3>${what}</h3><pre tabindex="0"><code>${plain(text, 20_000)}</code></pre><${Copy} text=${text} label=${words('copyLine', { what })} /></div>`;
  return html`<${Card} title=${words('linesTitle')}><p class="note">${words('linesLead')}</p>${line('devicectl', lines.devicectl)}${lines.devicectl === undefined && lines.curl !== undefined && html`<p class="note">${words('noWords')}</p>`}${line('curl', lines.curl)}${line('JSON-RPC', lines.rpc)}<${TextField} label=${words('run')} hint=${words('runHint', { run: RUN })} value=${run} onInput=${onRun} /><//>`;
}
