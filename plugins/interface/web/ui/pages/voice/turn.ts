/** A turn as a conversation, and where its time went. */
import { html } from 'htm/preact';
import { durationText, timeText } from '../../core/format.ts';
import { SelectField } from '../../parts/field.ts';
import { Badge, Card, Empty } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { Table } from '../../parts/table.ts';
import type { Turn } from './shapes.ts';
import { words } from './text.ts';
import { barsOf, GOAL_MS, Waterfall } from './waterfall.ts';

const LEVELS: Readonly<Record<Turn['outcome'], Level>> = {
  answered: 'okay',
  refused: 'warn',
  failed: 'error',
  cancelled: 'quiet',
  silent: 'quiet',
  running: 'info',
};

export const Outcome = ({ turn }: { turn: Turn }) =>
  html`<${Badge} level=${LEVELS[turn.outcome]}>${words(turn.outcome)}<//>`;

/** Only a turn that was answered by sound has a time that counts. */
export const timed = (turn: Turn): boolean => turn.spans.some(({ name }) => name === 'tts');

export function Conversation({ turn }: { turn: Turn }) {
  const { heard, wakeword, plan, said, engine, stage, code } = turn;
  const slots = Object.entries(plan?.slots ?? {});
  return html`<div class="talked"><p class="bubble person"><span class="unseen">${words('youSaid')} </span>${heard ? heard : html`<em>${words('nothingHeard')}</em>`}</p>${plan && html`<p class="meant">${words('meant')} <strong>${plan.title}</strong> <code>${plan.intent}</code>${slots.length > 0 && html` · ${slots.map(([name, value]) => `${name} = ${String(value)}`).join(', ')}`}</p>`}${said && html`<p class="bubble device"><span class="unseen">${words('deviceSaid')} </span>${said}</p>`}<p class="note">${[wakeword && words('calledBy', { phrase: wakeword }), engine && words(stage === 'cloud' ? 'byCloud' : 'byLocal', { engine }), code && words('ended', { code })].filter(Boolean).join(' · ')}</p></div>`;
}

export function TurnCard(props: {
  turn: Turn | undefined;
  turns: readonly Turn[];
  compare: string;
  onCompare: (turn: string) => void;
}) {
  const { turn, turns, compare } = props;
  if (turn === undefined)
    return html`<${Card} title=${words('turn')}><${Empty} icon="voice" title=${words('noTurn')} /><//>`;
  const { total } = barsOf(turn);
  const good = total <= GOAL_MS;
  const verdict = timed(turn)
    ? html`<${Badge} level=${good ? 'okay' : 'warn'}>${words(good ? 'within' : 'over', { time: durationText(total), goal: durationText(GOAL_MS) })}<//>`
    : null;
  const others = turns.filter((one) => one.turn !== turn.turn && one.spans.length > 0);
  const options = [
    ['', words('none')] as const,
    ...others.map((one) => [one.turn, `${timeText(one.at)} ${one.heard || words(one.outcome)}`.slice(0, 60)] as const),
  ];
  const other = others.find((one) => one.turn === compare);
  return html`<${Card} title=${words('turn')} aside=${html`<div class="row"><${Outcome} turn=${turn} />${verdict}</div>`}><${Conversation} turn=${turn} />${turn.spans.length > 0 && html`<${Waterfall} turn=${turn} other=${other} /><p class="note">${words('counted')}</p>`}${others.length > 0 && html`<${SelectField} label=${words('compare')} value=${other ? compare : ''} options=${options} onChange=${props.onCompare} />`}<//>`;
}

export function TurnList(props: { turns: readonly Turn[]; href: (turn: Turn) => string }) {
  const columns = [
    {
      title: words('heard'),
      cell: (one: Turn) => html`<span class="clip">${one.heard || words('nothingHeard')}</span>`,
    },
    { title: words('when'), cell: ({ at }: Turn) => timeText(at), by: ({ at }: Turn) => at },
    { title: words('how'), cell: ({ source }: Turn) => words(`by-${source}`) },
    { title: words('outcome'), cell: (one: Turn) => html`<${Outcome} turn=${one} />` },
    {
      title: words('time'),
      number: true,
      cell: (one: Turn) => (timed(one) ? durationText(barsOf(one).total) : '–'),
      by: (one: Turn) => (timed(one) ? barsOf(one).total : 0),
    },
  ];
  return html`<${Table} label=${words('turns')} columns=${columns} rows=${props.turns} rowKey=${({ turn }: Turn) => turn} href=${props.href} empty=${words('noTurn')} />`;
}
