/** How the device started: what and why in one sentence, both slots, what the boot loader did; and starting it again. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { durationText } from '../../core/format.ts';
import { isOperator } from '../../core/session.ts';
import { useAsk } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { Answer, Badge, Card, Facts, Head } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { offered } from '../../parts/offered.ts';
import { clean } from '../../parts/said.ts';
import { tell } from '../../parts/toast.ts';
import type { Reset, Slot, SlotName, Status } from './shapes.ts';
import { text } from './text.ts';

const LEVEL: Readonly<Record<Slot['state'], Level>> = { good: 'okay', trial: 'info', bad: 'error', empty: 'quiet' };
const STEPS = { node: 'stepNode', record: 'stepRecord', verify: 'stepVerify', write: 'stepWrite' } as const;
/** Acts of an operator; `needs` is the path that is called, `able` the ability that the machine must have. */
const ACTS = [
  { act: 'restart', able: 'restart', needs: '/system/restart', body: {}, kind: 'normal' },
  { act: 'safeRestart', able: 'restart', needs: '/system/restart', body: { safeMode: true }, kind: 'normal' },
  { act: 'reboot', able: 'reboot', needs: '/system/reboot', body: {}, kind: 'normal' },
  { act: 'powerOff', able: 'powerOff', needs: '/system/power-off', body: {}, kind: 'danger' },
  { act: 'reset', able: undefined, needs: '/system/reset', body: {}, kind: 'danger' },
] as const;
type Act = (typeof ACTS)[number];

export function Page() {
  const status = useAsk<Status>('/boot');
  return html`<${Head} title=${text('title')} lead=${text('lead')} /><${Answer} of=${status}>${(now: Status) => html`<${Now} now=${now} />${isOperator() && html`<${Acts} now=${now} />`}${now.slots && html`<${Slots} now=${now} />`}${now.loader && html`<${Steps} now=${now} /><${List} title=${text('repaired')} lead=${text('repairedLead')} of=${now.repaired} none=${text('noRepaired')} /><${List} title=${text('problems')} of=${now.problems} />`}`}<//>`;
}

function Now({ now: { loader, safe, slot, version, why, cause, pause, before, rung } }: { now: Status }) {
  const values = {
    slot: slot?.toUpperCase() ?? text('unknown'),
    version: clean(version ?? text('unknown')),
    why: clean(safe ? (cause ?? why) : why),
  };
  const level = safe ? 'warn' : loader && rung !== 'normal' ? 'warn' : loader ? 'okay' : 'quiet';
  const mode = safe ? 'safe' : loader && rung !== 'normal' ? 'fellBack' : loader ? 'normal' : 'noLoader';
  return html`<${Card} title=${text('now')} aside=${html`<span role="status"><${Badge} level=${level}>${text(mode)}<//></span>`}><p>${text(`${mode}Says`, values)}</p>${safe && pause !== undefined && html`<p class="note">${text('pause', { time: durationText(pause * 1000) })}</p>`}${before !== undefined && html`<p class="note">${text('before', { how: clean(before) })}</p>`}<//>`;
}

function Acts({ now: { loader, safe, acts: possible, actsReason } }: { now: Status }) {
  const paths = offered.value;
  const [asks, setAsks] = useState<Act | undefined>(undefined);
  // Safe mode is asked of the boot loader, by a plugin that safe mode itself does not start. A reset waits for the next
  // start, whoever makes it.
  const works = ({ act, able }: Act) =>
    (able === undefined || possible.includes(able)) && (act !== 'safeRestart' || (loader && !safe));
  const acts = ACTS.filter((one) => paths?.has(one.needs) && works(one));
  const close = () => setAsks(undefined);
  const begin = async ({ act, needs, body }: Act) => {
    // The shell asks for a confirmation next; two dialogs would be one too many.
    close();
    const { restarts, reason } = await api.post<Partial<Reset>>(needs, body);
    if (act === 'reset' && restarts === false) tell(text('resetLater', { reason: clean(reason ?? '') }));
    else tell(text('underWay'));
  };
  if (acts.length === 0 && actsReason === undefined) return null;
  return html`<${Card} title=${text('again')}><div class="actions">${acts.map((one) => html`<${Button} key=${one.act} kind=${one.kind} writes onClick=${() => setAsks(one)}>${text(one.act)}<//>`)}</div>${actsReason !== undefined && html`<p class="note">${text('notAll', { reason: clean(actsReason) })}</p>`}${asks && html`<${Dialog} title=${text(`${asks.act}Sure`)} onClose=${close} actions=${html`<${Button} onClick=${close}>${text('cancel')}<//><${Button} kind=${asks.kind === 'danger' ? 'danger' : 'main'} writes onClick=${() => begin(asks)}>${text(asks.act)}<//>`}><p>${text(`${asks.act}Says`)}</p><//>`}<//>`;
}

function Slots({ now: { slots, slot, primary } }: { now: Status }) {
  const card = ([name, { state, version, tries, reason }]: [SlotName, Slot]) => {
    const rows = [
      [text('version'), clean(version ?? text('none'))],
      [text('tries'), tries],
      [text('reason'), clean(reason ?? '–')],
      [text('starts'), [name === slot && text('runs'), name === primary && text('first')].filter(Boolean).join(', ')],
    ] as const;
    return html`<${Card} key=${name} title=${text('slot', { slot: name.toUpperCase() })} aside=${html`<${Badge} level=${LEVEL[state]}>${text(state)}<//>`}><${Facts} rows=${rows.map(([title, value]) => [title, value === '' ? '–' : value])} /><//>`;
  };
  return html`<div class="grid">${Object.entries(slots ?? {}).map((one) => card(one as [SlotName, Slot]))}</div>`;
}

function Steps({ now: { ms = {}, waited = 0, verify } }: { now: Status }) {
  const nameOf = (step: string) => (step in STEPS ? text(STEPS[step as keyof typeof STEPS]) : clean(step));
  const rows = [
    ...Object.entries(ms).map(([step, took]) => [nameOf(step), durationText(took)] as const),
    ...(waited > 0 ? [[text('waited'), durationText(waited * 1000)] as const] : []),
    ...(verify ? [[text('looked'), text(verify)] as const] : []),
  ];
  return html`<${Card} title=${text('steps')}><${Facts} rows=${rows} /><//>`;
}

/** Texts of the device; with nothing to say for none the card is left out. */
function List(props: { title: string; lead?: string; of: readonly string[] | undefined; none?: string }) {
  const { title, lead, of = [], none } = props;
  if (of.length === 0 && none === undefined) return null;
  return html`<${Card} title=${title}>${of.length === 0 ? html`<p class="note">${none}</p>` : html`${lead && html`<p class="note">${lead}</p>`}<ul>${of.map((one) => html`<li key=${one} style=${{ overflowWrap: 'anywhere' }}>${clean(one)}</li>`)}</ul>`}<//>`;
}
