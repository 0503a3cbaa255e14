/** States of an update, and the steps between them. Pure. */
import type { UpdateState } from '@device-core/plugin-api/inside/services/updates';

export const STEPS = [
  ...['check', 'nothing', 'found', 'download', 'downloaded', 'staged', 'wait', 'activate', 'started', 'good', 'bad'],
  ...['fail', 'stop', 'discard'],
] as const;
export type Step =
  | ('check' | 'nothing' | 'found' | 'download' | 'downloaded' | 'staged' | 'wait' | 'activate' | 'started')
  /** `bad`: it is not what runs, or is not to be. `stop`: an operator, or a rule, ends what is under way. */
  | ('good' | 'bad' | 'fail' | 'stop' | 'discard');

/** A state, and the one that a check comes back to. */
export interface At {
  readonly state: UpdateState;
  readonly before?: UpdateState;
}

/** Something is there that can be gone on with. */
const KEPT: readonly UpdateState[] = ['available', 'staged', 'waiting'];
/** Nothing is under way. */
export const RESTS: readonly UpdateState[] = [
  'idle',
  'available',
  'staged',
  'waiting',
  'good',
  'rolled-back',
  'failed',
];
/** An update has come to its end, or there is none. */
export const OVER: readonly UpdateState[] = ['idle', 'good', 'rolled-back', 'failed'];
/** From here to the end of the probation nobody can stop it: the other slot starts next, or runs. */
export const COMMITTED: readonly UpdateState[] = ['activating', 'probation'];

type Moves = Partial<Readonly<Record<Step, UpdateState>>>;
const ANEW: Moves = { check: 'checking', found: 'available' };
const TABLE: Readonly<Record<UpdateState, Moves>> = {
  idle: ANEW,
  checking: { nothing: 'idle', found: 'available', fail: 'failed', stop: 'idle' },
  available: { check: 'checking', found: 'available', download: 'downloading', discard: 'idle', fail: 'failed' },
  downloading: { downloaded: 'verifying', stop: 'available', discard: 'idle', fail: 'failed' },
  verifying: { staged: 'staged', stop: 'available', discard: 'idle', fail: 'failed' },
  staged: { check: 'checking', found: 'available', wait: 'waiting', activate: 'activating', discard: 'idle' },
  waiting: { check: 'checking', found: 'available', wait: 'waiting', activate: 'activating', discard: 'idle' },
  activating: { started: 'probation', bad: 'rolled-back', fail: 'failed' },
  // `fail`: it is not good, and there is nothing to go back to.
  probation: { started: 'probation', good: 'good', bad: 'rolled-back', fail: 'failed' },
  good: { ...ANEW, bad: 'rolled-back' },
  'rolled-back': ANEW,
  failed: { ...ANEW, discard: 'idle' },
};

/** Target of a step; undefined for an impossible one. A slot on trial is on probation, whatever its former state. */
export function after({ state, before }: At, step: Step): At | undefined {
  if (step === 'started') return { state: 'probation' };
  // By hand, or by the loader: the other slot runs.
  if (step === 'bad' && RESTS.includes(state)) return { state: 'rolled-back' };
  const to = TABLE[state][step];
  if (to === undefined) return undefined;
  if (to === 'checking') return { state: to, before: state };
  // A check that fails takes nothing away; one that finds nothing ends what is over.
  if (
    state === 'checking' &&
    to !== 'available' &&
    before !== undefined &&
    (step !== 'nothing' || KEPT.includes(before))
  )
    return { state: before };
  return { state: to };
}
