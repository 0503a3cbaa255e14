/**
 * The choice of the slot that starts. Pure: the record and the loader's view of the world go in, the next record and a decision come out.
 * Times are seconds of uptime and a boot is known by its id, because the clock may be wrong.
 */
import type { BootRecord, LastStart, Rung, Slot, SlotName } from '../../plugin-api/inside/boot-record.ts';
import { FIRST_PAUSE, RUNGS } from '../../plugin-api/inside/boot-record.ts';

export interface World {
  readonly boot: string;
  readonly uptime: number;
  /** Reason why a slot cannot be started: empty, different from its list, not signed. */
  readonly problem: (slot: SlotName) => string | undefined;
  /** Reason for safe mode, if it was requested: by a file, on the kernel command line, by devicectl. */
  readonly asked?: string | undefined;
  /** A person acted in the safe mode that has just ended. */
  readonly used?: boolean;
}

export interface Choice {
  readonly record: BootRecord;
  /** Absent if no slot can be started; the loader waits and chooses again. */
  readonly start?: { readonly slot: SlotName; readonly safe: boolean };
  /** Seconds to wait first. */
  readonly wait: number;
  readonly why: string;
}

/** A trial that was started so often and never found good is bad. */
export const TRIALS = 3;
const CRASHES = 5;
/** Also how long a run is that is no brief one. */
const CRASH_WINDOW = 600;
const SILENT_BOOTS = 3;
/** Limit of failures of safe mode, and of the slot below it. */
const FAILURES = 3;
const LONG_PAUSE = 60;
const LONGEST_PAUSE = 86_400;
/** Between starts of a slot that ends at once. */
const BREATH = 3;

const other = (slot: SlotName): SlotName => (slot === 'a' ? 'b' : 'a');

/** Chooses the slot to start. The caller writes the returned record durably before the start. */
export function choose(before: BootRecord, world: World): Choice {
  const { record, pause } = fallen(judged(heard(before, world), world, before.last), world);
  const wait = pause ? LONG_PAUSE : breath(before, world);
  // A rung is useless if its slot was damaged meanwhile.
  if (world.problem(slotOf(record)) === undefined) return start(record, wait, world);
  const rest = { ...record, rung: 'normal', failures: 0 } as const;
  if (world.problem(rest.primary) === undefined) return start(rest, wait, world);
  const why = `no slot can be started: ${reasonOf(rest, world, 'a')}; ${reasonOf(rest, world, 'b')}`;
  return { record: rest, wait: LONG_PAUSE, why };
}

function start(record: BootRecord, wait: number, { boot, uptime, asked }: World): Choice {
  const slot = slotOf(record);
  const safe = isSafe(record.rung) || asked !== undefined;
  const now = record.slots[slot];
  const counted = now.state === 'trial' ? { ...now, tries: Math.min(TRIALS, now.tries + 1) } : now;
  const last: LastStart = { boot, slot, safe, at: uptime + wait, result: 'started' };
  return {
    record: { ...record, slots: { ...record.slots, [slot]: counted }, last },
    start: { slot, safe },
    wait,
    why: asked ?? record.cause ?? `slot ${slot} is ${now.state}`,
  };
}

/** No two starts of a boot follow one another faster, however the first one ended. */
function breath({ last }: BootRecord, { boot, uptime }: World): number {
  if (last?.boot !== boot) return 0;
  return last.result === 'success' ? Math.min(BREATH, Math.max(0, last.at + BREATH - uptime)) : BREATH;
}

/** The Core said that it is ready. */
export const ready = (record: BootRecord): BootRecord =>
  record.last === undefined ? record : { ...record, silent: 0, last: { ...record.last, result: 'ready' } };

/**
 * The Core has ended; `text` is what systemd said of it. What was not started cannot end: systemd says so, too, when
 * the loader itself failed.
 */
export const ended = ({ last, ...record }: BootRecord, success: boolean, text: string): BootRecord => {
  if (last === undefined) return record;
  if (last.result === 'success' || last.result === 'failure') return { ...record, last };
  return { ...record, last: { ...last, result: success ? 'success' : 'failure', text } };
};

/** Adds the result of the last start to the record. */
function heard(record: BootRecord, { boot, uptime, used = false }: World): BootRecord {
  const { last, ...rest } = record;
  if (last === undefined) return record;
  const sameBoot = last.boot === boot;
  const crashes = sameBoot ? rest.crashes.filter((at) => uptime - at < CRASH_WINDOW) : [];
  const brief = sameBoot && uptime - last.at < CRASH_WINDOW;
  // An orderly end soon after the start counts as a crash, else a loop of them would never end. A reboot and acts in safe mode are excused.
  if (last.result === 'success' && (!brief || (last.safe && used))) return orderly({ ...rest, crashes }, last, used);
  // A silent end in another boot is a loss of power. After READY it says nothing about the slot.
  if (!sameBoot && last.result !== 'failure')
    return { ...rest, crashes, silent: last.result === 'started' ? rest.silent + 1 : 0 };
  if (last.safe) return { ...rest, crashes, failures: rest.failures + 1 };
  // A crash after a long run is another fault than the one that led to safe mode.
  const calm = sameBoot && !brief ? { window: false, pause: FIRST_PAUSE } : {};
  return { ...rest, ...calm, silent: 0, crashes: [...crashes, uptime].slice(-CRASHES) };
}

function orderly(record: BootRecord, { slot, safe }: LastStart, used: boolean): BootRecord {
  const now = record.slots[slot];
  // A start that was ended in order says nothing against a trial.
  const tries = Math.max(0, now.tries - 1);
  const slots = now.state === 'trial' ? { ...record.slots, [slot]: { ...now, tries } } : record.slots;
  const calm = { ...record, slots, silent: 0, failures: 0, crashes: [] };
  if (!safe) return onTop(record.rung === 'normal' ? calm : { ...calm, primary: slot });
  if (used) return onTop(calm);
  // By hand: nothing had failed.
  if (!isSafe(record.rung)) return calm;
  // Safe mode was not used: the normal start is tried once more, and the pause grows if that fails.
  const rung = record.rung === 'other-safe' ? 'other' : 'normal';
  return { ...calm, rung, window: true, pause: Math.min(LONGEST_PAUSE, record.pause * 2) };
}

const onTop = ({ cause: _, ...record }: BootRecord): BootRecord => ({
  ...record,
  rung: 'normal',
  failures: 0,
  pause: FIRST_PAUSE,
  window: false,
});

/**
 * Slots that cannot be started, or were tried too often, are bad; the primary becomes one that can start, if any. Other
 * slots are not read.
 */
function judged(record: BootRecord, { problem }: World, last?: LastStart): BootRecord {
  const judge = (name: SlotName): Slot => {
    const slot = record.slots[name];
    if (slot.state === 'empty' || slot.state === 'bad') return slot;
    const tired = slot.state === 'trial' && slot.tries >= TRIALS;
    const reason = problem(name) ?? (tired ? neverGood(last?.slot === name ? last.text : undefined) : undefined);
    return reason === undefined ? slot : { ...slot, state: 'bad', reason };
  };
  const fit = ({ state }: Slot): boolean => state === 'good' || state === 'trial';
  const [name, second] = [record.primary, other(record.primary)];
  const alone = { ...record, slots: { ...record.slots, [name]: judge(name) } };
  if (fit(alone.slots[name])) return alone;
  const next = judge(second);
  const both = { ...alone, slots: { ...alone.slots, [second]: next } };
  if (!fit(next) && (problem(name) === undefined || problem(second) !== undefined)) return both;
  return { ...onTop({ ...both, primary: second }), crashes: [], silent: 0 };
}

/** One rung down where this one has failed often enough; `pause` where it was the last. */
function fallen(record: BootRecord, { problem }: World): { readonly record: BootRecord; readonly pause: boolean } {
  const cause = failureOf(record);
  if (cause === undefined) return { record, pause: false };
  const rest = { ...record, cause, failures: 0, crashes: [], silent: 0, window: false };
  for (let at = RUNGS.indexOf(record.rung) + 1; at < RUNGS.length; at++) {
    const next = { ...rest, rung: RUNGS[at]! };
    if (problem(slotOf(next)) === undefined) return { record: next, pause: false };
  }
  return { record: { ...rest, rung: 'normal' }, pause: true };
}

/** Why this rung is left; on the first one a trial is judged by its tries. */
function failureOf({ rung, slots, failures, crashes, silent, window, ...record }: BootRecord): string | undefined {
  const slot = slotOf({ ...record, rung });
  if (isSafe(rung))
    return failures + silent >= FAILURES ? `safe mode of slot ${slot} failed ${FAILURES} times` : undefined;
  const { state, tries } = slots[slot];
  if (state === 'trial' && rung === 'normal') return undefined;
  if (window && crashes.length > 0) return `slot ${slot} ended again after an unused safe mode`;
  if (state === 'trial' && tries >= TRIALS && !window) return `slot ${slot} was not found good in ${TRIALS} starts`;
  if (crashes.length >= CRASHES) return `slot ${slot} ended ${CRASHES} times within ${CRASH_WINDOW / 60} minutes`;
  if (silent >= SILENT_BOOTS) return `slot ${slot} went ${SILENT_BOOTS} times without a word before it was ready`;
  return undefined;
}

const isSafe = (rung: Rung): boolean => rung === 'safe' || rung === 'other-safe';
const slotOf = ({ primary, rung }: Pick<BootRecord, 'primary' | 'rung'>): SlotName =>
  rung === 'normal' || rung === 'safe' ? primary : other(primary);
const neverGood = (end = ''): string =>
  `${TRIALS} starts, and it was never found good${end && `; the last one ended: ${end}`}`;
const reasonOf = ({ slots }: BootRecord, { problem }: World, name: SlotName): string =>
  `${name} is ${slots[name].state} (${slots[name].reason ?? problem(name) ?? 'it was not found good'})`;
