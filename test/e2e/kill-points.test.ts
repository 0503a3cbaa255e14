/**
 * Processes that are killed at the n-th call of a kind, for each n: whatever helper and loader were doing, what the record calls whole is whole, something
 * starts, and what was acknowledged stays. It proves the death of a process; crash-states.test.ts proves that of the power (docs/adr/0129).
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SLOTS, type SlotName } from '@device-core/plugin-api/inside/boot-record';
import { differenceOf, type ImageKeys, parseImage } from '@device-core/plugin-api/inside/image';
import { RecordFile } from '@device-core/plugin-api/inside/record-file';
import { chooseNow } from '../../kernel/init/loader.ts';
import { damaged, loaderAt, problemOf, sequenceOf } from '../fixtures/cut-off-device.ts';
import { without } from '../fixtures/debian.ts';
import { FULL } from '../fixtures/runs.ts';
import { SlotDevice } from '../fixtures/slot-device.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
/** What changes a disk. Only calls of the main thread count: helper and loader use no other. */
const CALLS = ['fsync', 'rename', 'pwrite64', 'mkdir', 'unlink', 'unlinkat', 'rmdir', 'symlink'] as const;
type SystemCall = (typeof CALLS)[number];

const traced = spawnSync('strace', ['-o', '/dev/null', '-e', 'inject=getpid:signal=KILL:when=9999', 'true']);
const WITHOUT_STRACE = without('strace') || (traced.status !== 0 && 'strace cannot trace here');

interface Subject {
  /** Before it is killed, once for all. */
  readonly prepare: (device: SlotDevice) => void;
  readonly words: (root: string) => readonly string[];
  /** What is wrong with what is left, in words. */
  readonly wrong?: (root: string, stdout: string) => readonly string[];
}

/** One device, copied for each kill: to make keys and images takes longer than what is tried. */
class Original implements Disposable {
  readonly folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'kill-'));
  readonly #root = join(this.folder, 'device');

  constructor({ prepare }: Subject) {
    prepare(new SlotDevice({ root: join(this.folder, 'device') }));
  }

  /** A fresh copy below the same path. */
  fresh(): string {
    const root = join(this.folder, 'copy');
    rmSync(root, { recursive: true, force: true });
    cpSync(this.#root, root, { recursive: true, verbatimSymlinks: true });
    return root;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Runs it; undefined where it came to its end before the n-th call. */
function killedAt(call: SystemCall, n: number, words: readonly string[]): { readonly stdout: string } | undefined {
  const inject = ['-f', '-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${n}`];
  const { status, signal, stdout, stderr } = spawnSync(
    'strace',
    [...inject, '-o', '/dev/null', process.execPath, ...words],
    {
      cwd: CHECKOUT,
      encoding: 'utf8',
      timeout: 120_000,
      // Calls that do not wait are made in one thread: strace counts by thread.
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    },
  );
  if (signal === 'SIGKILL' || status === 137) return { stdout };
  assert.equal(status, 0, `${call} ${n}: ${stdout}${stderr}`);
  return undefined;
}

/** Nothing may be wrong with what is left: told in words, empty when all is well. */
async function wrongIn(root: string, before: number, stdout: string): Promise<readonly string[]> {
  const system = join(root, 'system');
  const wrong: string[] = [];
  const keys = JSON.parse(readFileSync(join(system, 'boot/keys.json'), 'utf8')) as ImageKeys;
  const { record, kind, problem } = new RecordFile(join(system, 'boot/record')).read();
  if (kind !== 'record' || sequenceOf(join(system, 'boot/record')) < before)
    wrong.push(`the record is lost: ${problem}`);
  if (stdout.includes('staged') && record.slots.b.state !== 'trial') wrong.push('the staging is lost');
  if (stdout.includes('activated') && record.primary !== 'b') wrong.push('the flip is lost');
  const claims = (slot: SlotName) => ['trial', 'good'].includes(record.slots[slot].state);
  const bad = SLOTS.filter((slot) => claims(slot) && problemOf(system, slot, keys) !== undefined);
  // A file that was damaged before is the loader's to put right.
  if (existsSync(join(root, 'damaged')) ? bad.length > 1 : bad.length > 0) wrong.push(`${bad.join()} is not whole`);
  // The device starts again: the lock of the one that was killed is of a boot before.
  const lock = join(system, 'boot/record.lock');
  if (lstatSync(lock, { throwIfNoEntry: false })) {
    rmSync(lock);
    symlinkSync('a boot before', lock);
  }
  const { slot, why } = await chooseNow(loaderAt(system, join(root, 'run')));
  if (slot === undefined) return [...wrong, `nothing starts: ${why}`];
  const started = problemOf(system, slot, keys);
  return started === undefined ? wrong : [...wrong, `${slot} was started: ${started}`];
}

async function killAll(context: TestContext, subject: Subject): Promise<void> {
  using original = new Original(subject);
  let points = 0;
  const wrong: string[] = [];
  for (const call of CALLS)
    for (let n = 1; ; n += FULL ? 1 : 4) {
      const root = original.fresh();
      const before = sequenceOf(join(root, 'system/boot/record'));
      const killed = killedAt(call, n, subject.words(root));
      if (!killed) break;
      points += 1;
      const { wrong: look = () => wrongIn(root, before, killed.stdout) } = subject;
      for (const what of await look(root, killed.stdout)) wrong.push(`${call} ${n}: ${what}`);
    }
  context.diagnostic(`${points} points, ${wrong.length} wrong`);
  assert.deepEqual(wrong, []);
  assert.ok(points >= 6, `only ${points} points`);
}

describe('a kill at each call that changes the disk', { skip: WITHOUT_STRACE, timeout: 900_000 }, () => {
  it('does no harm in the helper, which stages and flips', async (context) => {
    let image = '';
    await killAll(context, {
      prepare: (device) => {
        image = device.image('2.0.0').slice(device.root.length);
      },
      words: (root) => [join(CHECKOUT, 'test/fixtures/kill-subject.ts'), 'stage', root, join(root, image)],
    });
  });

  it('does no harm in the loader, which puts files right and counts', async (context) => {
    await killAll(context, {
      prepare: (device) => {
        damaged(device);
        cpSync(join(device.root, 'boot/boot.json'), join(device.root, 'damaged'));
      },
      words: (root) => {
        const places = ['--system', join(root, 'system'), '--run', join(root, 'run'), '--core', join(root, 'core')];
        return [join(CHECKOUT, 'kernel/init/main.ts'), 'choose', ...places];
      },
    });
  });

  it('does no harm in the update of the loader itself: the old one or the new one is current, whole', async (context) => {
    const subject = join(CHECKOUT, 'test/fixtures/kill-subject.ts');
    const run = (root: string, version: string) => {
      const { status, stderr } = spawnSync(process.execPath, [subject, 'loader', root, version], { encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    };
    const current = (root: string): { readonly version: string; readonly problem?: string } => {
      const folder = join(root, 'system/boot/current');
      try {
        const image = parseImage(readFileSync(join(folder, 'image.json')));
        const problem = differenceOf(realpathSync(folder), image)?.message;
        return { version: image.version, ...(problem !== undefined && { problem }) };
      } catch (error) {
        return { version: 'none', problem: (error as Error).message };
      }
    };
    await killAll(context, {
      prepare: ({ root }) => run(root, '1.0.0'),
      words: (root) => [subject, 'loader', root, '2.0.0'],
      wrong(root, stdout) {
        const left = current(root);
        const wrong = left.problem === undefined ? [] : [`the loader ${left.version} is not whole: ${left.problem}`];
        if (stdout.includes('pointed') && left.version !== '2.0.0') wrong.push('the update of the loader is lost');
        run(root, '2.0.0');
        const again = current(root);
        if (again.problem !== undefined || again.version !== '2.0.0') wrong.push('it cannot be done again');
        return wrong;
      },
    });
  });
});
