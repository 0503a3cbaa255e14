/** The screen in words, with what can be tapped as buttons: for a keyboard alone, a screen reader, or a slow line. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import type { Asked } from '../../parts/ask.ts';
import { Button } from '../../parts/button.ts';
import { ToggleField } from '../../parts/field.ts';
import { Answer, Card } from '../../parts/frame.ts';
import type { Described, Target } from './shapes.ts';
import { text } from './text.ts';

const SWIPES = {
  up: { x: 360, y: 520, toX: 360, toY: 200 },
  down: { x: 360, y: 200, toX: 360, toY: 520 },
  left: { x: 520, y: 360, toX: 200, toY: 360 },
  right: { x: 200, y: 360, toX: 520, toY: 360 },
} as const;
const WAYS = Object.keys(SWIPES) as (keyof typeof SWIPES)[];

export function Reading({
  described,
  touchable,
  simulated,
}: {
  described: Asked<Described>;
  touchable: boolean;
  simulated: boolean;
}) {
  const [aloud, setAloud] = useState(false);
  const tap = ({ x, y }: Target) => api.post('/display/input', { x, y });
  const button = (target: Target, at: number) =>
    html`<li key=${`${at} ${target.label}`}><${Button} writes=${true} disabled=${target.guarded === true && !simulated} onClick=${() => tap(target)}>${target.label}<//></li>`;
  const guarded = ({ targets = [] }: Described) => !simulated && targets.some((one) => one.guarded);
  return html`<${Card} title=${text('reads')}><${Answer} of=${described}>${(data: Described) => html`<div class="panel-text" aria-live=${aloud ? 'polite' : 'off'}>${data.text.length === 0 ? text('nothingShown') : plain(data).map((line, at) => html`<p key=${`${at} ${line}`}>${line}</p>`)}</div>${touchable && (data.targets?.length ?? 0) > 0 && html`<ul class="panel-taps" aria-label=${text('taps')}>${data.targets?.map(button)}</ul>`}${touchable && guarded(data) && html`<p class="note">${text('guarded')}</p>`}`}<//>${touchable && html`<div class="panel-swipes" role="group" aria-label=${text('swipe')}><span class="note">${text('swipe')}</span>${WAYS.map((way) => html`<${Button} key=${way} kind="quiet" writes=${true} label=${text(`swipe-${way}`)} onClick=${() => api.post('/display/input/swipe', SWIPES[way])}>${ARROWS[way]}<//>`)}</div>`}<${ToggleField} label=${text('aloud')} hint=${text('aloudHint')} value=${aloud} onChange=${setAloud} /><//>`;
}

const ARROWS = { up: '↑', down: '↓', left: '←', right: '→' } as const;

/** Lines without those of buttons, which stand below. */
const plain = ({ text: lines, targets = [] }: Described): readonly string[] => {
  const labels = new Set(targets.map(({ label }) => `[${label}]`));
  const told = lines.filter((line) => !labels.has(line));
  // A title is often the first text as well.
  return told.filter((line, at) => line !== told[at - 1]);
};
