/** Updates of the device: what is so in one sentence, what one would change before anybody agrees, why not now, and what was. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { bytesText, whenText } from '../../core/format.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Answer, Badge, Card, Facts, Head } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { clean } from '../../parts/said.ts';
import { View } from '../../view/view.ts';
import type { Image, State, Status, Why } from './shapes.ts';
import { text } from './text.ts';

const LEVEL: Readonly<Partial<Record<State, Level>>> = {
  good: 'okay',
  failed: 'error',
  'rolled-back': 'warn',
  waiting: 'warn',
};
const BUSY: readonly State[] = ['checking', 'downloading', 'verifying', 'activating'];

export function Page() {
  const status = useAsk<Status>('/update');
  const why = useAsk<Why>('/update/why');
  const again = () => {
    status.reload();
    why.reload();
  };
  useEvents(['update.state'], again);
  return html`<${Head} title=${text('title')} lead=${text('lead')} actions=${html`<${Button} writes onClick=${() => api.post('/update/check', {}).finally(again)}>${text('check')}<//>`} /><${Answer} of=${status}>${(now: Status) => html`<${Now} now=${now} again=${again} />${now.update && html`<${Next} update=${now.update} />`}<${Slots} now=${now} />`}<//><${Answer} of=${why}>${(told: Why) => html`<${NotNow} told=${told} />`}<//><${View} of="update.history" base=${['updates']} />`;
}

function Now({ now, again }: { now: Status; again: () => void }) {
  const [asks, setAsks] = useState<'apply' | 'rollback' | undefined>(undefined);
  const { state, update, percent, reason, hold, leases } = now;
  const version = clean(now.version ?? update?.version ?? '');
  const busy = BUSY.includes(state);
  const ready = update !== undefined && ['available', 'staged', 'waiting'].includes(state);
  const done = (asked: Promise<unknown>) => asked.finally(again);
  return html`<${Card} title=${text('now')} aside=${html`<span role="status"><${Badge} level=${LEVEL[state] ?? (busy ? 'info' : 'quiet')}>${text(state)}<//></span>`}><p>${text(`${state}Says`, { version })}</p>${percent !== undefined && html`<progress max="100" value=${percent} aria-label=${text(state)}></progress>`}${reason !== undefined && html`<p class="note">${clean(reason)}</p>`}${hold && html`<p class="note">${text('held', { reason: clean(hold.reason) })}</p>`}${leases.map(({ id, holder, reason: because, until }) => html`<p class="note" key=${id}>${text('lease', { holder: clean(holder), reason: clean(because), until: whenText(until) })}</p>`)}<div class="actions">${ready && state === 'available' && html`<${Button} writes onClick=${() => done(api.post('/update/download', {}))}>${text('download')}<//>`}${ready && html`<${Button} kind="main" writes onClick=${() => setAsks('apply')}>${text('apply')}<//>`}${hold ? html`<${Button} writes onClick=${() => done(api.delete('/update/hold'))}>${text('resume')}<//>` : html`<${Button} writes disabled=${state === 'activating'} onClick=${() => done(api.post('/update/hold', {}))}>${text('hold')}<//>`}${now.running?.other !== undefined && html`<${Button} kind="danger" writes disabled=${busy} onClick=${() => setAsks('rollback')}>${text('rollback')}<//>`}</div>${asks === 'apply' && update && html`<${Dialog} title=${text('applySure', { version })} onClose=${() => setAsks(undefined)} actions=${html`<${Button} onClick=${() => setAsks(undefined)}>${text('cancel')}<//><${Button} kind="main" onClick=${() => done(api.post('/update/apply', update.digest ? { accept: update.digest } : {})).then(() => setAsks(undefined))}>${text('apply')}<//>`}><${Changes} update=${update} /><//>`}${asks === 'rollback' && html`<${Dialog} title=${text('rollbackSure', { version: clean(now.running?.other ?? '') })} onClose=${() => setAsks(undefined)} actions=${html`<${Button} onClick=${() => setAsks(undefined)}>${text('cancel')}<//><${Button} kind="danger" onClick=${() => done(api.post('/update/rollback', {})).then(() => setAsks(undefined))}>${text('rollback')}<//>`}><p>${text('rollbackSays')}</p><//>`}<//>`;
}

function Next({ update }: { update: Image }) {
  return html`<${Card} title=${text('next', { version: clean(update.version) })} aside=${update.severity === 'security' && html`<${Badge} level="warn">${text('security')}<//>`}><${Changes} update=${update} /><//>`;
}

/** Everything that somebody agrees to. */
function Changes({ update }: { update: Image }) {
  const { notes, bytes, restarts, claims, forms, wayBack, source } = update;
  const list = (items: readonly string[]) => (items.length === 0 ? text('nothing') : items.map(clean).join(', '));
  const rows = [
    [text('bytes'), bytes === undefined ? text('unknown') : bytesText(bytes)],
    [text('restarts'), list(restarts)],
    [text('claims'), list(claims.map(({ plugin, capability, summary }) => `${plugin}: ${capability} (${summary})`))],
    [text('forms'), list(forms.map(({ store, from, to }) => `${store}: ${from} → ${to}`))],
    [text('wayBack'), text(wayBack ? 'yes' : 'no')],
    [text('source'), clean(source)],
  ] as const;
  return html`${notes !== undefined && html`<p>${clean(notes)}</p>`}<${Facts} rows=${rows} />${!wayBack && html`<p class="note">${text('oneWay')}</p>`}`;
}

function Slots({ now: { running, channel, repository, automatic, checkedAt } }: { now: Status }) {
  const rows = [
    [text('runs'), clean([running?.version ?? text('unknown'), running?.slot ?? ''].filter(Boolean).join(' · '))],
    [text('other'), clean(running?.other ?? text('empty'))],
    [text('channel'), clean(channel)],
    [text('repository'), clean(repository ?? text('none'))],
    [text('automatic'), clean(automatic)],
    [text('checked'), checkedAt === undefined ? text('never') : whenText(checkedAt)],
  ] as const;
  return html`<${Card} title=${text('slots')}><${Facts} rows=${rows} /><//>`;
}

function NotNow({ told }: { told: Why }) {
  if (told.allowed) return null;
  const rows = [
    [text('rule'), html`<code>${clean(told.rule ?? '')}</code>`],
    [text('because'), clean(told.reason ?? '')],
    [text('means'), clean(told.sentence ?? '')],
    [text('todo'), clean(told.todo ?? '')],
  ] as const;
  return html`<${Card} title=${text('whyNot')}><${Facts} rows=${rows} /><//>`;
}
