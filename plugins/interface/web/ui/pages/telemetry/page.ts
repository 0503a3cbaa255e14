/** Telemetry: what somebody agreed to, what each level would send to the byte, what waits to leave, and what left. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { bytesText, whenText } from '../../core/format.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Choice } from '../../parts/field.ts';
import { Answer, Badge, Card, Facts, Head } from '../../parts/frame.ts';
import { clean } from '../../parts/said.ts';
import { View } from '../../view/view.ts';
import type { Level, Next, Status } from './shapes.ts';
import { text } from './text.ts';

/** Characters of a push that are drawn: a browser has no use for a megabyte of them. */
const MOST = 65_536;

export function Page() {
  const status = useAsk<Status>('/telemetry');
  useEvents(['telemetry.consent'], status.reload);
  return html`<${Head} title=${text('title')} lead=${text('lead')} /><${Answer} of=${status}>${(now: Status) => html`<${Consent} now=${now} again=${status.reload} /><${Push} key=${now.level} now=${now} />`}<//><${View} of="outbox.list" base=${['telemetry']} /><${View} of="ledger.list" base=${['telemetry']} />`;
}

function Consent({ now, again }: { now: Status; again: () => void }) {
  const [asks, setAsks] = useState<Level | undefined>(undefined);
  const close = () => setAsks(undefined);
  const choose = async (level: string) => {
    // The shell asks for a confirmation next; two dialogs would be one too many.
    close();
    await api.put('/telemetry/consent', { level });
    again();
  };
  // To send less is nothing to think about.
  const press = (one: Level) => (one.level === 'off' ? choose(one.level) : setAsks(one));
  const rows = [
    [text('to'), clean(now.to ?? text('noReceiver'))],
    ...(now.device === undefined ? [] : [[text('device'), clean(now.device)] as const]),
    ...(now.unsent === undefined ? [] : [[text('unsent'), clean(now.unsent)] as const]),
  ] as const;
  const level = (one: Level) =>
    html`<div class="row" key=${one.level} style=${{ justifyContent: 'space-between', flexWrap: 'nowrap' }}><p><strong>${clean(one.level)}</strong> – ${clean(one.text)}</p>${one.level === now.level ? html`<${Badge} level="okay">${text('chosen')}<//>` : html`<${Button} writes label=${text('chooseOf', { level: clean(one.level) })} onClick=${() => press(one)}>${text('choose')}<//>`}</div>`;
  return html`<${Card} title=${text('consent')} aside=${html`<span role="status"><${Badge} level=${now.level === 'off' ? 'quiet' : 'info'}>${clean(now.level)}<//></span>`}>${now.levels.map(level)}${now.at !== undefined && html`<p class="note">${text('since', { when: whenText(now.at), who: clean(now.by ?? '') })}</p>`}<${Facts} rows=${rows} />${asks && html`<${Dialog} title=${text('chooseSure', { level: clean(asks.level) })} onClose=${close} actions=${html`<${Button} onClick=${close}>${text('cancel')}<//><${Button} kind="main" writes onClick=${() => choose(asks.level)}>${text('agree')}<//>`}><p>${clean(asks.text)}</p><//>`}<//>`;
}

function Push({ now }: { now: Status }) {
  const [level, setLevel] = useState(now.level);
  const next = useAsk<Next>('/telemetry/next', { level });
  const options = now.levels.map((one) => [one.level, clean(one.level)] as const);
  const part = (title: string, body: string | undefined) =>
    body !== undefined &&
    html`<h3>${title} <span class="note">${bytesText(new TextEncoder().encode(body).length)}</span></h3><pre tabindex="0" aria-label=${title} style=${{ maxHeight: '20rem', overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>${clean(body.slice(0, MOST))}${body.length > MOST ? '…' : ''}</pre>`;
  return html`<${Card} title=${text('next')}><p class="note">${text('nextLead')}</p><${Choice} label=${text('level')} value=${level} options=${options} onChange=${setLevel} /><${Answer} of=${next}>${(shown: Next) => html`${shown.note !== undefined && html`<p>${clean(shown.note)}</p>`}${part(text('metrics'), shown.metrics)}${part(text('logs'), shown.logs)}`}<//><//>`;
}
