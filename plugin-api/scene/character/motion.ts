/** Motions as functions of time: each gives its value, and the time until the next one. Pure. */
import type { CharacterMotion, CharacterMoved } from './spec.ts';

/** A value now, and the milliseconds until it is another; for ever if absent. */
export interface Moment<T> {
  readonly value: T;
  readonly next?: number;
}

/** Motions are seen in steps of 50 ms: calm ones need no more, and each step costs a picture. */
const STEP_MS = 50;

const EASE = {
  linear: (t: number) => t,
  in: (t: number) => t * t,
  out: (t: number) => 1 - (1 - t) ** 2,
  'in-out': (t: number) => (t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2),
} as const;

/** Steps that look smooth at this size: half a unit, a degree, a hundredth of a size, a twelfth of light. */
const GRAIN: Readonly<Record<CharacterMoved, number>> = {
  x: 0.5,
  y: 0.5,
  rotate: 1,
  sweep: 1,
  scale: 0.01,
  opacity: 1 / 12,
};

export function grained(property: CharacterMoved, value: number): number {
  const grain = GRAIN[property];
  return Math.round(value / grain) * grain;
}

/** `elapsed`: milliseconds since the look began. */
export function motionAt(motion: CharacterMotion, elapsed: number): Moment<number> {
  const step = Math.max(0, Math.floor(elapsed / STEP_MS));
  const value = valueAt(motion, step * STEP_MS);
  const { ms, pause = 0, alternate } = motion;
  const most = Math.ceil(((alternate ? 2 : 1) * ms + pause + (motion.delay ?? 0)) / STEP_MS) + 1;
  for (let ahead = 1; ahead <= most; ahead++)
    if (valueAt(motion, (step + ahead) * STEP_MS) !== value)
      return { value, next: (step + ahead) * STEP_MS - Math.max(0, elapsed) };
  return { value };
}

function valueAt(
  { property, from, to, ms, delay = 0, pause = 0, ease = 'in-out', alternate }: CharacterMotion,
  elapsed: number,
): number {
  const since = elapsed - delay;
  if (since <= 0) return grained(property, from);
  const way = alternate ? 2 * ms : ms;
  const part = Math.min(since % (way + pause), way) / ms;
  const t = part > 1 ? 2 - part : part;
  // A motion that goes round ends where it begins.
  const there = alternate || part < 1 || pause === 0 ? EASE[ease](t) : 0;
  return grained(property, from + (to - from) * there);
}

/** Height of what blinks, one picture each. */
const LIDS = [0.55, 0.15, 0.06, 0.06, 0.3, 0.7] as const;
const LID_MS = 34;
export const BLINK_MS = LIDS.length * LID_MS;

/** 0..1: how far the eyes are open. Each slot of time has one blink, at a moment of its own. */
export function blinkAt([least, most]: readonly [number, number], at: number): Moment<number> {
  const slot = (least + most) / 2;
  const index = Math.floor(at / slot);
  for (let ahead = 0; ahead < 2; ahead++) {
    const begins = (index + ahead) * slot + chance(index + ahead) * (most - slot) - at;
    if (begins > 0) return { value: 1, next: begins };
    const lid = Math.floor(-begins / LID_MS);
    if (lid < LIDS.length) return { value: LIDS[lid]!, next: begins + (lid + 1) * LID_MS };
  }
  return { value: 1, next: slot };
}

/** Most often it looks at you. */
const PLACES: readonly (readonly [number, number])[] = [
  [0, 0],
  [0, 0],
  [0, 0],
  [-0.8, 0.1],
  [0.8, 0.1],
  [0.5, -0.6],
  [-0.5, -0.5],
];
const GLANCE_MS = 5_300;
/** A look goes from one place to another in these steps. */
const TURNS = [0.45, 0.85, 1] as const;
const TURN_MS = 40;

export function glanceAt(at: number): Moment<readonly [number, number]> {
  const index = Math.floor(at / GLANCE_MS);
  const since = at - index * GLANCE_MS;
  const from = placeOf(index - 1);
  const to = placeOf(index);
  const step = Math.floor(since / TURN_MS);
  if (step >= TURNS.length || from === to) {
    let slots = 1;
    while (slots < 8 && placeOf(index + slots) === to) slots++;
    return { value: to, next: slots * GLANCE_MS - since };
  }
  const t = TURNS[step]!;
  const value = [from[0] + (to[0] - from[0]) * t, from[1] + (to[1] - from[1]) * t] as const;
  return { value, next: step + 1 < TURNS.length ? (step + 1) * TURN_MS - since : GLANCE_MS - since };
}

function placeOf(slot: number): readonly [number, number] {
  return PLACES[Math.floor(chance(slot * 7 + 3) * PLACES.length)]!;
}

/** 0..1, always the same for the same number. */
function chance(seed: number): number {
  let hash = Math.imul((seed | 0) ^ 0x9e3779b9, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

const BLEND_STEP_MS = 34;

/** 0..1: how much of the new pose there is already. */
export function blendAt(elapsed: number, ms: number): Moment<number> {
  if (elapsed >= ms) return { value: 1 };
  const step = Math.max(0, Math.floor(elapsed / BLEND_STEP_MS)) + 1;
  return {
    value: EASE.out(Math.min(1, (step * BLEND_STEP_MS) / ms)),
    next: Math.max(1, step * BLEND_STEP_MS - elapsed),
  };
}
