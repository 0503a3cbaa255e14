/**
 * Power that goes at any moment, proven by every state that a disk may be in: the record is not lost, what the record takes for whole is whole, and
 * something starts. What is tried is the code that devices run; the disk is recorded and replayed (docs/adr/0129).
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { encodeRecord, newRecord, SLOTS, type SlotName } from '@device-core/plugin-api/inside/boot-record';
import { type ImageKeys, imageHash } from '@device-core/plugin-api/inside/image';
import { RecordFile } from '@device-core/plugin-api/inside/record-file';
import { SlotWriter } from '@device-core/plugin-api/inside/slot-files';
import { choose } from '../../../kernel/init/choose.ts';
import { endedNow, readyNow } from '../../../kernel/init/heard.ts';
import { chooseNow } from '../../../kernel/init/loader.ts';
import {
  CrashDisk,
  type CrashDiskOptions,
  type CrashState,
  type DiskState,
  layOut,
} from '../../fixtures/crash-disk.ts';
import { damaged, loaderAt, problemOf, sequenceOf } from '../../fixtures/cut-off-device.ts';
import { FULL } from '../../fixtures/runs.ts';
import { SlotDevice } from '../../fixtures/slot-device.ts';

/** Memory, where there is some: thousands of small folders are made. */
const SHM = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const REPLAYED = mkdtempSync(join(SHM, 'crash-'));
after(() => rmSync(REPLAYED, { recursive: true, force: true }));

/** Number of the record that was written when this was marked. */
interface Acknowledged {
  readonly sequence: number;
}

interface Verdict {
  calls: number;
  states: number;
  readonly unbootable: string[];
  readonly notWhole: string[];
  readonly lost: string[];
}

/** The loader itself on such a disk, as it puts files right. What it starts must be whole. */
async function start(state: CrashState, verdict: Verdict): Promise<void> {
  layOut(state, REPLAYED);
  verdict.states += 1;
  // After the power went it is the lock of another boot.
  const lock = join(REPLAYED, 'boot/record.lock');
  if (lstatSync(lock, { throwIfNoEntry: false })) {
    rmSync(lock);
    symlinkSync('a boot before', lock);
  }
  const run = join(REPLAYED, 'run');
  const { slot, why, problems } = await chooseNow(loaderAt(REPLAYED, run));
  const acknowledged = state.marks.at(-1) as Acknowledged | undefined;
  if (acknowledged && sequenceOf(join(REPLAYED, 'boot/record')) <= acknowledged.sequence)
    verdict.lost.push(state.title);
  if (slot === undefined) {
    verdict.unbootable.push(`${state.title}: ${why}; ${problems}`);
    return;
  }
  const keys = JSON.parse(readFileSync(join(REPLAYED, 'boot/keys.json'), 'utf8')) as ImageKeys;
  const problem = problemOf(REPLAYED, slot, keys);
  if (problem !== undefined) verdict.notWhole.push(`${state.title}: ${slot}: ${problem}`);
}

/** What the boot loader finds and decides on such a disk. */
function look(state: CrashState, verdict: Verdict): void {
  layOut(state, REPLAYED);
  verdict.states += 1;
  const { record, kind } = new RecordFile(join(REPLAYED, 'boot/record')).read();
  const acknowledged = state.marks.at(-1) as Acknowledged | undefined;
  if (acknowledged && (kind !== 'record' || sequenceOf(join(REPLAYED, 'boot/record')) < acknowledged.sequence))
    verdict.lost.push(state.title);
  const keys = JSON.parse(readFileSync(join(REPLAYED, 'boot/keys.json'), 'utf8')) as ImageKeys;
  const problems = { a: problemOf(REPLAYED, 'a', keys), b: problemOf(REPLAYED, 'b', keys) };
  for (const slot of SLOTS) {
    const claims = kind === 'record' && ['trial', 'good'].includes(record.slots[slot].state);
    if (claims && problems[slot] !== undefined) verdict.notWhole.push(`${state.title}: ${slot}: ${problems[slot]}`);
  }
  // Without a record the loader takes every slot that verifies for good.
  const found = (slot: SlotName) => ({ state: problems[slot] === undefined ? 'good' : 'empty', tries: 0 }) as const;
  const before = kind === 'record' ? record : newRecord({ a: found('a'), b: found('b') });
  const choice = choose(before, { boot: 'the next', uptime: 10, problem: (slot) => problems[slot] });
  if (choice.start === undefined) verdict.unbootable.push(`${state.title}: ${choice.why}`);
}

/** `npm test` looks at each eighth call alone; the lane `soak` looks at all. */
const STRIDE = FULL ? 1 : 8;

const EACH = { every: 1 };

type Journey = (device: SlotDevice, acknowledge: () => void) => void | Promise<void>;

interface Cutting extends CrashDiskOptions {
  /** Prefixes of so many calls are looked at. */
  readonly every?: number;
  /** The look ends after so many states. */
  readonly most?: number;
  /** How each state is looked at. */
  readonly as?: (state: CrashState, verdict: Verdict) => void | Promise<void>;
  /** What the device is before. */
  readonly prepare?: (device: SlotDevice) => void;
}

/** Records a journey, and looks at each state that the disk may be left in. */
async function cut(
  context: TestContext,
  journey: Journey,
  { every = STRIDE, most = Number.POSITIVE_INFINITY, as = look, prepare = () => undefined, ...options }: Cutting = {},
): Promise<Verdict> {
  const root = mkdtempSync(join(SHM, 'device-'));
  using device = new SlotDevice({ root });
  const system = device.places.system;
  prepare(device);
  const disk = new CrashDisk(system, options);
  try {
    await journey(device, () => disk.mark({ sequence: sequenceOf(join(system, 'boot/record')) }));
  } finally {
    disk[Symbol.dispose]();
  }
  const shown = (state: DiskState) =>
    [...state].map(([path, { is, bytes, target }]) => `${path} ${is} ${target} ${imageHash(bytes)}`).sort();
  assert.deepEqual(
    shown(disk.now),
    shown(CrashDisk.found(system)),
    'something was written past the layer that records',
  );
  const verdict: Verdict = { calls: disk.calls, states: 0, unbootable: [], notWhole: [], lost: [] };
  for (const state of disk.states(every)) {
    await as(state, verdict);
    if (verdict.states >= most) break;
  }
  const { states, calls, unbootable, notWhole, lost } = verdict;
  context.diagnostic(
    `${calls} calls, ${states} states: ${unbootable.length} unbootable, ${notWhole.length} not whole, ${lost.length} lost`,
  );
  return verdict;
}

function allIsWell({ states, unbootable, notWhole, lost }: Verdict, least: number): void {
  assert.deepEqual({ unbootable, notWhole, lost }, { unbootable: [], notWhole: [], lost: [] });
  assert.ok(states >= least / STRIDE / 2, `only ${states} states were looked at`);
}

const recordOf = ({ places }: SlotDevice) => new RecordFile(join(places.system, 'boot/record'));

const changes: Journey = (device, acknowledge) => {
  for (let tries = 1; tries <= 5; tries++) {
    recordOf(device).change((record) => ({ ...record, silent: tries, cause: 'x'.repeat(tries * 50) }));
    acknowledge();
  }
};

/** An image comes, starts, is good; the next one comes over the first and is bad. */
const update: Journey = async (device, acknowledge) => {
  const writer = new SlotWriter(device.places);
  const start = () => {
    device.start();
    acknowledge();
  };
  await writer.stage(device.image('2.0.0'));
  acknowledge();
  writer.activate('b');
  acknowledge();
  start();
  writer.markGood();
  acknowledge();
  await writer.stage(device.image('3.0.0'));
  acknowledge();
  writer.activate('a');
  acknowledge();
  start();
  writer.markBad('it does not do');
  acknowledge();
};

describe('all states of the disk after a loss of power', { timeout: 600_000 }, () => {
  it('a record that was written is there, or a later one', async (context) => {
    allIsWell(await cut(context, changes), 40);
  });

  it('the first record of a device is there once it was written', async (context) => {
    const verdict = await cut(context, (device, acknowledge) => {
      const path = join(device.places.system, 'boot/record');
      rmSync(path);
      const handle = openSync(join(path, '..'), 'r');
      fsyncSync(handle);
      closeSync(handle);
      recordOf(device).write(newRecord({ a: { state: 'good', tries: 0 } }));
      acknowledge();
    });
    allIsWell(verdict, 5);
  });

  it('an update is whole or not there at each step of two stagings, flips and verdicts', async (context) => {
    allIsWell(await cut(context, update), 250);
  });

  it('an image of many files, of which few are new, is whole or not there', async (context) => {
    const files = Object.fromEntries(
      Array.from({ length: FULL ? 30 : 8 }, (_, at) => [
        `kernel/part-${at % 7}/${at}.js`,
        `part(${at});\n`.repeat(at * 40),
      ]),
    );
    const verdict = await cut(context, async (device, acknowledge) => {
      const writer = new SlotWriter(device.places);
      await writer.stage(device.image('2.0.0', { files }));
      acknowledge();
      writer.activate('b');
      acknowledge();
    });
    allIsWell(verdict, 150);
  });

  it('a staging that is given up, and one over what another left, leave the slot that runs', async (context) => {
    const verdict = await cut(context, async (device, acknowledge) => {
      const writer = new SlotWriter(device.places);
      const image = device.image('2.0.0');
      const gone = new AbortController();
      const progress = () => gone.abort();
      await assert.rejects(writer.stage(image, { progress, signal: gone.signal }), { code: 'CANCELLED' });
      await writer.stage(image);
      acknowledge();
    });
    allIsWell(verdict, 100);
  });

  it('the loader counts, and puts files right from the other slot: what it starts is whole', async (context) => {
    const verdict = await cut(
      context,
      async ({ places: { system }, root }, acknowledge) => {
        for (const _ of ['first', 'second']) {
          const here = loaderAt(system, join(root, 'run'));
          const report = await chooseNow(here);
          assert.equal(report.slot, 'a', report.why);
          acknowledge();
          assert.equal(readyNow(here), undefined);
          acknowledge();
          assert.equal(
            endedNow(here, { SERVICE_RESULT: 'signal', EXIT_CODE: 'killed', EXIT_STATUS: 'SEGV' }),
            undefined,
          );
          acknowledge();
          rmSync(join(root, 'run'), { recursive: true });
        }
      },
      { as: start, prepare: damaged, every: FULL ? 1 : 12 },
    );
    allIsWell(verdict, 60);
  });
});

describe('the proof finds', { timeout: 600_000 }, () => {
  it('staging without syncs', async (context) => {
    const { notWhole, lost } = await cut(context, update, {
      noSync: true,
      every: FULL ? 7 : 97,
      most: FULL ? 10_000 : 100,
    });
    assert.ok(notWhole.length > 0, 'a slot that is activated and not whole');
    assert.ok(lost.length > 0, 'a record that is lost');
  });

  it('a record that is written whole, in its place', async (context) => {
    const { lost } = await cut(
      context,
      (device, acknowledge) => {
        const path = join(device.places.system, 'boot/record');
        for (let sequence = 10; sequence < 13; sequence++) {
          const bytes = encodeRecord(device.record, sequence);
          writeFileSync(path, Buffer.concat([bytes, bytes]), { flush: true });
          acknowledge();
        }
      },
      EACH,
    );
    assert.ok(lost.length > 0);
  });

  it('a file of the slot that runs, written in its place', async (context) => {
    const { unbootable } = await cut(
      context,
      (device) => {
        const file = openSync(join(device.slot('a'), 'bin/node'), 'r+');
        const bytes = Buffer.alloc(15_000, 'another program ');
        for (let at = 0; at < bytes.length; at += 5_000)
          writeSync(file, bytes, at, Math.min(5_000, bytes.length - at), at);
        fsyncSync(file);
        closeSync(file);
      },
      EACH,
    );
    assert.ok(unbootable.length > 0);
  });
});
