/** A plugin in a worker or process that never stops talking takes turns with everybody else, and is ended. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type Operations, operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { culprits } from '../fixtures/culprits.ts';
import { eventually } from '../fixtures/eventually.ts';

after(leakCheck());

/** What the Core may hold of a flood: windows, and what is being worked at. Its own plugins move some tens of megabytes meanwhile. */
const HELD_MB = 128;

function invoke(table: Operations, name: string): Promise<unknown> {
  const signal = new AbortController().signal;
  return table.invoke(
    name,
    {},
    { caller: { kind: 'operator', id: 'operator' }, signal, deadline: Date.now() + 60_000 },
  );
}

async function status(core: Core, id: string): Promise<PluginStatus> {
  const { plugins } = await core.kernel.status();
  return plugins.find((plugin) => plugin.id === id)!;
}

/** Memory of this thread: a worker's heap counts as the process's, but not as this. */
function heldMB(): number {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

const LOUD = /it flooded the Core: its messages took \d+ ms of the Core's processor time, more than 2 % all the while/;
/** What goes around the border tears apart what goes over it. */
const BROKEN = /it flooded the Core|it broke the rules of the border/;

const FLOODS: readonly (readonly [level: 'worker' | 'process', way: string, what: string, reason: RegExp])[] = [
  ['worker', 'flood', 'events', LOUD],
  ['process', 'flood', 'events', LOUD],
  ['process', 'around', 'frames of its own making', BROKEN],
];

describe('a flood from a plugin', () => {
  for (const [level, way, what, reason] of FLOODS) {
    it(`in a ${level}, of ${what}: others have their turns, memory is bounded, and it is ended with its reason`, async () => {
      const root = mkdtempSync(join(tmpdir(), 'dc-'));
      const plugins = { operations: '^1.0.0', system: '^1.0.0', ...culprits(root, [way], level) };
      const core = await startCore({ root, plugins });
      try {
        const table = core.service(operations);
        void invoke(table, `harm.${way}`).catch(() => undefined); // it may answer before it ends
        let served = 0;
        let most = 0;
        const before = heldMB();
        const last = await eventually(
          async () => {
            await invoke(table, 'system.ping');
            served++;
            most = Math.max(most, heldMB() - before);
            return (await status(core, way)).lastError;
          },
          `the end of ${way}`,
          { ms: 120_000, every: 1 },
        );
        assert.equal(last.code, 'PLUGIN_CRASHED');
        assert.match(last.message, reason);
        assert.ok(served > (reason === LOUD ? 50 : 5), `${served} pings were answered while it lasted`);
        assert.ok(most < HELD_MB, `the Core held ${most} MB more`);
      } finally {
        await core.stop();
        rmSync(root, { recursive: true, force: true });
      }
    });
  }

  it('in a worker has no way around the border', async () => {
    const root = mkdtempSync(join(tmpdir(), 'dc-'));
    const plugins = { operations: '^1.0.0', system: '^1.0.0', ...culprits(root, ['around'], 'worker') };
    const core = await startCore({ root, plugins });
    try {
      const table = core.service(operations);
      void invoke(table, 'harm.around').catch(() => undefined);
      const before = heldMB();
      for (let n = 0; n < 300; n++) await invoke(table, 'system.ping').then(() => new Promise(setImmediate));
      assert.ok(heldMB() - before < HELD_MB);
      assert.equal((await status(core, 'around')).state, 'active');
    } finally {
      await core.stop();
      rmSync(root, { recursive: true, force: true });
    }
  });
});
