/**
 * Power that goes at each write and sync of the vault, proven by every state that a disk may be in then (docs/adr/0129): no secret that was acknowledged is
 * lost, and the vault can always be opened.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Logger } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { FileVault } from '../../../plugins/state/secrets/file/file-vault.ts';
import type { SecretKey } from '../../../plugins/state/secrets/names.ts';
import { CallsAtOnce } from '../../fixtures/calls-at-once.ts';
import { CrashDisk, layOut } from '../../fixtures/crash-disk.ts';
import { FULL } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

/** Memory, where there is some: thousands of small folders are made. */
const SHM = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const quiet = () => undefined;
const log: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const LEAST_STATES = FULL ? 200 : 50;

type Step = readonly [act: 'set' | 'delete' | 'rotate', key: SecretKey, text?: string];
/** Longer than a page: it can be torn. */
const LONG = 'long '.repeat(2_000);
const STEPS: readonly Step[] = [
  ['set', 'shared/a', 'first text'],
  ['set', 'plugin.b/token', LONG],
  ['set', 'shared/a', 'second text'],
  ['rotate', 'shared/a'],
  ['delete', 'plugin.b/token'],
  ['set', 'app.com.example/c', 'third text'],
  ['set', 'app.com.example/c', LONG.slice(1)],
  ['set', 'core/d', 'fourth text'],
  ['rotate', 'shared/a'],
  ['delete', 'shared/a'],
  ['set', 'plugin.b/token', 'fifth text'],
  ['delete', 'core/d'],
  ['set', 'shared/a', LONG.slice(2)],
];

/** What a vault holds after so many of them. */
function heldAfter(count: number): ReadonlyMap<string, string> {
  const held = new Map<string, string>();
  for (const [act, key, text] of STEPS.slice(0, count))
    if (act === 'set') held.set(key, text!);
    else if (act === 'delete') held.delete(key);
  return held;
}

const open = (root: string) =>
  FileVault.open({
    id: 'secrets',
    folder: join(root, 'var/secrets'),
    run: join(root, 'run'),
    key: { etc: join(root, 'etc'), credentials: undefined },
    scope: part().scope,
    log,
  });

async function held(vault: FileVault): Promise<ReadonlyMap<string, string>> {
  const all = new Map<string, string>();
  for (const key of vault.records.keys()) all.set(key, (await vault.read(key))!);
  return all;
}

/** Every state of a disk on which the steps were made; `noSync` plants the fault that nothing is synced. */
async function cut(noSync: boolean): Promise<{ states: number; calls: number; lost: string[]; unreadable: string[] }> {
  const root = mkdtempSync(join(SHM, 'cut-'));
  const replayed = mkdtempSync(join(SHM, 'cut-'));
  const found = { states: 0, calls: 0, lost: [] as string[], unreadable: [] as string[] };
  try {
    using _calls = new CallsAtOnce();
    const disk = new CrashDisk(root, { noSync });
    try {
      const vault = await open(root);
      for (const [index, [act, key, text]] of STEPS.entries()) {
        disk.mark({ asked: index + 1 });
        if (act === 'rotate') await vault.rotate();
        else await vault.write(key, text, 'operator');
        disk.mark({ done: index + 1 });
      }
      assert.deepEqual(await held(vault), heldAfter(STEPS.length));
      found.calls = disk.calls;
    } finally {
      disk[Symbol.dispose]();
    }
    for (const state of disk.states((noSync ? 20 : 1) * (FULL ? 1 : 2))) {
      layOut(state, replayed);
      found.states += 1;
      const marks = state.marks as readonly { readonly asked?: number; readonly done?: number }[];
      const asked = Math.max(0, ...marks.map((mark) => mark.asked ?? 0));
      const done = Math.max(0, ...marks.map((mark) => mark.done ?? 0));
      try {
        const vault = await open(replayed);
        assert.equal(vault.state.state, 'open', vault.state.reason);
        const now = JSON.stringify([...(await held(vault))].sort());
        const allowed = [done, asked].map((count) => JSON.stringify([...heldAfter(count)].sort()));
        if (!allowed.includes(now)) found.lost.push(state.title);
        await vault.write('core/next', 'and it takes the next one', 'operator');
      } catch (error) {
        found.unreadable.push(`${state.title}: ${String(error)}`);
      }
    }
    return found;
  } finally {
    for (const folder of [root, replayed]) rmSync(folder, { recursive: true, force: true });
  }
}

describe('a power cut at each write and sync', () => {
  it('loses no secret that was acknowledged, and the vault opens', { timeout: 300_000 }, async (t) => {
    const { states, calls, lost, unreadable } = await cut(false);
    t.diagnostic(`${calls} calls, ${states} states of the disk`);
    assert.ok(states >= LEAST_STATES, `${states} states`);
    assert.deepEqual({ lost: lost.slice(0, 5), unreadable: unreadable.slice(0, 5) }, { lost: [], unreadable: [] });
  });

  it('is found to lose some where nothing is synced', { timeout: 300_000 }, async () => {
    const { lost, unreadable } = await cut(true);
    assert.ok(lost.length + unreadable.length > 0);
  });
});
