/** One change: its steps, how far it is, what became of it. The page of changes and the installation of apps show it. */
import { html } from 'htm/preact';
import { durationText, whenText } from '../../core/format.ts';
import { type Asked, sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { Answer, Badge, Card, Facts } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import type { Level } from '../../parts/level.ts';
import { clean } from '../../parts/said.ts';
import { sayIn } from '../../view/text.ts';
import type { Change, ChangeState } from './shapes.ts';
import { text } from './text.ts';

sheet('pages/changes/changes.css');

export const LEVEL: Readonly<Record<ChangeState, Level>> = {
  waiting: 'quiet',
  doing: 'info',
  done: 'okay',
  undoing: 'warn',
  undone: 'warn',
  failed: 'error',
};

export const isOver = ({ state }: Pick<Change, 'state'>): boolean => ['done', 'undone', 'failed'].includes(state);

/** Asked anew with each event about it. */
export function useChange(id: string): Asked<Change> {
  const asked = useAsk<Change>(`/changes/${encodeURIComponent(id)}`);
  useEvents(['change.state'], (items) => {
    const mine = items.some(({ data }) => (data as { payload?: { change?: string } }).payload?.change === id);
    if (mine || items.length === 0) asked.reload();
  });
  return asked;
}

export function ChangeView({ of }: { of: Asked<Change> }) {
  return html`<${Answer} of=${of}>${(change: Change) => html`<${Card} title=${clean(change.summary)} aside=${html`<span role="status"><${Badge} level=${LEVEL[change.state]}>${text(change.state)}<//></span>`}><${Steps} change=${change} /><${Outcome} change=${change} /><${Facts} rows=${facts(change)} /><//>`}<//>`;
}

function Steps({ change: { steps, progress } }: { change: Change }) {
  return html`<progress class="change-meter" max=${Math.max(1, progress.of)} value=${progress.done} aria-label=${sayIn('pages/changes')('progress', { progress })}></progress><ol class="change-steps">${steps.map(({ name, summary, state }) => html`<li key=${name} class=${state} aria-current=${state === 'doing' || state === 'undoing' ? 'step' : undefined}><span class="change-mark" aria-hidden="true">${state === 'done' ? html`<${Icon} name="check" size=${14} />` : state === 'failed' ? html`<${Icon} name="close" size=${14} />` : state === 'undone' ? html`<${Icon} name="undo" size=${14} />` : null}</span><span>${clean(summary)}</span><span class="note">${text(state)}</span></li>`)}</ol>${progress.note && html`<p class="note">${clean(progress.note)}</p>`}`;
}

/** Why it failed, and what was taken back. */
function Outcome({ change }: { change: Change }) {
  const { error, state, steps } = change;
  if (error === undefined) return null;
  const undone = steps.filter((step) => step.state === 'undone').map(({ summary }) => clean(summary));
  const { lines } = error.details ?? {};
  const last = Array.isArray(lines) ? lines.map((line) => clean(String(line))) : [];
  return html`<div class="problem" role="alert"><${Icon} name="warn" /><div><p>${clean(error.message)} <code>${clean(error.code)}</code></p>${undone.length > 0 && html`<p class="note">${text('takenBack', { steps: undone.join(', ') })}</p>`}${state === 'undone' && html`<p class="note">${text('asBefore')}</p>`}</div></div>${last.length > 0 && html`<h3>${text('lastLines')}</h3><pre>${last.join('\n')}</pre>`}`;
}

function facts({ by, kind, subject, startedAt, endedAt, id }: Change) {
  return [
    [text('subject'), clean(subject)],
    [text('by'), clean(by)],
    [text('kind'), html`<code>${clean(kind)}</code>`],
    [text('started'), whenText(startedAt)],
    ...(endedAt === undefined ? [] : [[text('took'), durationText(endedAt - startedAt)]]),
    [text('number'), clean(id)],
  ] as const;
}
