/** From a staged slot to one that is good, or back: the restart, and what is found after it. */
import { join } from 'node:path';
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import type { SlotInfo, SlotsStatus } from '@device-core/plugin-api/inside/services/slots';
import { needSlots, sweepAll } from './fetching.ts';
import {
  beforeOf,
  type Fault,
  forgetBefore,
  judged,
  keepBefore,
  lookAt,
  probation,
  readBefore,
  textOf,
} from './gate.ts';
import type { Parts } from './parts.ts';
import { MOST_BAD, type UpdateRecord } from './record.ts';

/** Time for the answer to leave the device. */
const ANSWER_FIRST_MS = 200;
const MOST_FLIPS = 3;
/** The helper of root may be slow to come. */
const TRIES = 5;
const PAUSE_MS = 2_000;

const fileOf = ({ folder }: Parts): string => join(folder, 'before.json');

/** The other slot starts next, and now. Throws SLOTS_UNAVAILABLE and the codes of a disk: then nothing has changed. */
export async function activate(parts: Parts, by?: string): Promise<void> {
  const { journal, services, clock, scope } = parts;
  const slots = needSlots(parts, 'activate the update');
  const { wanted, slot, flips = 0 } = journal.record;
  if (!wanted || !slot) throw new CoreError('UPDATE_CONFLICT', { verb: 'activate', state: journal.record.state });
  await keepBefore(fileOf(parts), beforeOf(await lookAt(lookers(parts), scope), wanted.image));
  if (journal.record.state !== 'activating')
    await journal.move('activate', { flips: flips + 1, order: undefined, ...maybe({ by }) }, true);
  else await journal.note({ flips: flips + 1 });
  await slots.activate(slot);
  const { acts, reason } = (await services.machine?.able()) ?? { acts: [], reason: 'no plugin provides machine' };
  if (!services.machine || !acts.includes('restart')) {
    await journal.note({ reason: `it is taken with the next restart: ${reason ?? 'the Core cannot restart itself'}` });
    return;
  }
  await clock.sleep(ANSWER_FIRST_MS, scope.signal);
  await services.machine.act('restart');
}

const lookers = ({ manager, services: { operations, apps } }: Parts) => ({ manager, operations, apps });

/** Findings of a start. `gate`: the slot that runs is on probation. */
export type Resumed = 'gate' | 'activate' | 'nothing';

/** Looks which slot runs, and makes of it what became of the update. */
export async function resume(parts: Parts, status: SlotsStatus): Promise<Resumed> {
  const { journal } = parts;
  const { record } = journal;
  const running = status.slots.find(({ booted }) => booted);
  if (!running) return 'nothing';
  // Also where the record was lost: what is on trial is on probation.
  if (running.state === 'trial') {
    const reason = record.state === 'probation' ? 'the Core was started again' : undefined;
    await journal.move('started', { slot: running.name, left: undefined, ...maybe({ reason }) });
    return 'gate';
  }
  const target = status.slots.find(({ name }) => name === record.slot);
  const image = record.wanted?.image;
  const runs = running.name === record.slot && (image === undefined || running.image === image);
  switch (record.state) {
    case 'activating':
    case 'probation':
      if (runs && record.state === 'activating') await journal.move('started');
      if (runs) return ended(parts, undefined);
      return notRunning(parts, status, target);
    case 'good':
      if (!record.slot || runs || !target || target.image !== image) return 'nothing';
      await back(parts, whyNot(target, status));
      return 'nothing';
    case 'checking':
      await journal.move('stop', { reason: 'the Core ended while it looked' });
      return resume(parts, status);
    case 'downloading':
    case 'verifying':
      await journal.move('stop', { reason: 'the Core ended meanwhile; it goes on' });
      return 'nothing';
    default:
      return 'nothing';
  }
}

/** The reason of the slot itself names what is wrong with it. */
const whyNot = (target: SlotInfo | undefined, { cause, booted }: SlotsStatus): string =>
  target?.reason ?? cause ?? `slot ${booted} runs in its place`;

/** The restart into the other slot led, or was to lead, elsewhere. */
async function notRunning(parts: Parts, status: SlotsStatus, target: SlotInfo | undefined): Promise<Resumed> {
  const { journal } = parts;
  const { state, flips = 0, wanted } = journal.record;
  const there = target && target.image === wanted?.image && (target.state === 'trial' || target.state === 'good');
  if (state === 'activating' && there && target.tries === 0 && flips < MOST_FLIPS) return 'activate';
  await back(parts, whyNot(target, status));
  return 'nothing';
}

async function back(parts: Parts, reason: string): Promise<void> {
  const { journal } = parts;
  await journal.move('bad', {
    reason,
    flips: undefined,
    order: undefined,
    anyway: undefined,
    bad: withBad(journal.record, journal.record.wanted, reason),
  });
  await forgetBefore(fileOf(parts));
}

/** With the one that was taken back, as far as that is known. */
function withBad({ bad }: UpdateRecord, one: Partial<SlotInfo> | undefined, reason: string): UpdateRecord['bad'] {
  const { image = '', version = '' } = one ?? {};
  return one ? [...bad.filter((other) => other.image !== image), { image, version, reason }].slice(-MOST_BAD) : bad;
}

/** The probation of what runs, to its end. */
export async function gate(parts: Parts): Promise<void> {
  const { journal, config, scope, clock, judge } = parts;
  const before = await readBefore(fileOf(parts), journal.record.wanted?.image ?? '');
  const fault = await probation({
    look: () => lookAt(lookers(parts), scope),
    before,
    probationMs: config.probationMs,
    judge: () => judged(judge, journal.told, scope, config.judgeMs),
    sleep: (ms) => clock.sleep(ms, scope.signal),
    elapsed: () => clock.monotonic(),
  });
  await ended(parts, fault);
}

async function ended(parts: Parts, fault: Fault | undefined): Promise<Resumed> {
  const { journal, services, log } = parts;
  const slots = needSlots(parts, 'end the probation');
  if (!fault) {
    await again(parts, 'mark the slot good', () => slots.markGood());
    const { wanted, bad } = journal.record;
    const others = bad.filter(({ image }) => image !== wanted?.image);
    await journal.move('good', { reason: undefined, flips: undefined, anyway: undefined, bad: others });
    await forgetBefore(fileOf(parts));
    await sweepAll(parts);
    return 'nothing';
  }
  const reason = textOf(fault);
  log.error({ reason }, 'the update is not good: the former image comes back');
  try {
    await again(parts, 'mark the slot bad', () => slots.markBad(reason));
  } catch (error) {
    if ((error as CoreError).code === 'SLOTS_UNAVAILABLE') {
      // It is better than nothing: what runs goes on.
      await journal.move('fail', { reason: `${reason}; there is nothing to go back to: ${reasonOf(error)}` });
      return 'nothing';
    }
    log.error({ err: error }, 'cannot mark the slot bad: the loader leaves it after three starts');
  }
  await back(parts, reason);
  await services.machine?.act('restart').catch((err) => {
    log.error({ err }, 'cannot restart: the former image comes back with the next start');
  });
  return 'nothing';
}

async function again(parts: Parts, what: string, work: () => Promise<void>): Promise<void> {
  for (let nth = 1; ; nth += 1) {
    try {
      return await work();
    } catch (error) {
      if (nth >= TRIES) throw error;
      parts.log.warn({ err: error }, `cannot ${what} yet`);
      await parts.journal.note({ reason: `cannot ${what} yet: ${reasonOf(error)}` });
      await parts.clock.sleep(PAUSE_MS, parts.scope.signal);
    }
  }
}

/** Returns to the former image on demand. Throws SLOTS_UNAVAILABLE where there is none. */
export async function rollBack(parts: Parts, why: string, by: string): Promise<void> {
  const { journal, services, clock, scope } = parts;
  const slots = needSlots(parts, 'roll back');
  const status = await slots.status();
  const running = status.slots.find(({ booted }) => booted);
  const other = status.slots.find(({ booted }) => !booted);
  const refuse = (reason: string): never => {
    throw new CoreError('SLOTS_UNAVAILABLE', { verb: 'roll back', reason });
  };
  if (!running || !other) return refuse('this device has no slots');
  if (other.state !== 'good')
    return refuse(
      other.state === 'empty'
        ? `slot ${other.name} is empty`
        : `slot ${other.name} ${other.state === 'bad' ? `is bad: ${other.reason ?? 'no reason is known'}` : 'was never found good'}`,
    );
  if (running.state === 'trial') await slots.markBad(why);
  else await slots.activate(other.name);
  await journal.move('bad', {
    reason: why,
    slot: other.name,
    flips: undefined,
    order: undefined,
    anyway: undefined,
    by,
    verb: 'roll back',
    left: running.version === undefined ? undefined : { version: running.version, image: running.image ?? '' },
    from: other.version,
    bad: withBad(journal.record, running, why),
  });
  await forgetBefore(fileOf(parts));
  await clock.sleep(ANSWER_FIRST_MS, scope.signal);
  await services.machine?.act('restart');
}
