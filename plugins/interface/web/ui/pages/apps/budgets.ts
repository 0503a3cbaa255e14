/** Usage of an app against its budgets, over the time that the page is open. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { useAsk, useEvents, useVisible } from '../../parts/ask.ts';
import { Badge, Card, Empty } from '../../parts/frame.ts';
import type { Use } from './shapes.ts';
import { text } from './text.ts';
import { useTimer } from './timer.ts';
import { valueText } from './units.ts';

const LOOK_MS = 2000;
/** Ten minutes of them. */
const MOST = 300;
const NEAR = 80;

export function Budgets({ id, running }: { id: string; running: boolean }) {
  const usage = useAsk<{ readonly usage: readonly Use[] }>(`/apps/${encodeURIComponent(id)}/usage`);
  const [past, setPast] = useState<readonly (readonly Use[])[]>([]);
  const visible = useVisible();
  useTimer(visible && running ? LOOK_MS : undefined, usage.reload);
  useEvents(['app.budget'], usage.reload);
  useEffect(() => {
    if (usage.data) setPast((before) => [...before.slice(1 - MOST), usage.data!.usage]);
  }, [usage.data]);
  const now = usage.data?.usage ?? [];
  return html`<${Card} title=${text('budgets')}>${now.length === 0 ? html`<${Empty} title=${text('notMeasured')} />` : html`<ul class="apps-budgets">${now.map((use) => html`<li key=${use.budget}><${Budget} use=${use} past=${past} /></li>`)}</ul>`}<//>`;
}

function Budget({ use, past }: { use: Use; past: readonly (readonly Use[])[] }) {
  const { budget, used, limit, percent, peak } = use;
  const values = past.flatMap((all) => all.filter((one) => one.budget === budget).map((one) => one.used));
  const level = percent >= 100 ? 'error' : percent >= NEAR ? 'warn' : undefined;
  return html`<div class="apps-budget-head"><span>${text(budget)}</span><span><strong>${valueText(budget, used)}</strong> <span class="note">${text('of', { limit: valueText(budget, limit) })}</span>${level && html` <${Badge} level=${level}>${text(level === 'error' ? 'over' : 'near')}<//>`}</span></div><progress class="apps-meter" max=${limit} value=${Math.min(used, limit)} aria-label=${text('shareOf', { budget: text(budget), n: percent })}></progress><${Line} values=${values} most=${Math.max(limit, peak) || 1} label=${text('peak', { value: valueText(budget, peak) })} /><span class="note">${text('peak', { value: valueText(budget, peak) })}</span>`;
}

/** The course of a value, from the time the page was opened. */
function Line({ values, most, label }: { values: readonly number[]; most: number; label: string }) {
  if (values.length < 2) return null;
  const high = Math.max(...values, most / 20);
  const at = values.map(
    (value, i) => `${((i / (values.length - 1)) * 100).toFixed(1)},${(28 - (value / high) * 26).toFixed(1)}`,
  );
  return html`<svg class="apps-course" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label=${label}><polyline points=${at.join(' ')} vector-effect="non-scaling-stroke" /></svg>`;
}
