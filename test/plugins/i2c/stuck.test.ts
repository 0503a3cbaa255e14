/** Health of an I2C bus with several users: who began when counts, and not who is heard of last. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { I2cHandle } from '@device-core/plugin-api/services/i2c';
import fc from 'fast-check';
import { OP } from '../../../plugins/hardware/i2c/messages.ts';
import { Transfers, type TransfersOptions } from '../../../plugins/hardware/i2c/transfers.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';

const handle = (name: string, endpoint: string) =>
  ({ name, endpoint, address: 0x50, speedHz: 400_000, maxBytes: 256 }) as unknown as I2cHandle;

interface Pending {
  readonly op: number;
  readonly endpoint: string;
  readonly settle: (stuck: boolean) => Promise<void>;
}

/** Transfers whose requests wait for the test to answer them. */
function bus(own: ReturnType<typeof part>) {
  const pending: Pending[] = [];
  const troubles = new Set<string>();
  const user = {
    request(row: { readonly handle: I2cHandle }, { op }: { readonly op: number }) {
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      const settle = async (stuck: boolean) => {
        if (stuck) reject(new CoreError('TRANSFER_FAILED', { what: 'it', reason: 'stuck', status: 'BUS_STUCK' }));
        else resolve(new Uint8Array(1));
        for (let turn = 0; turn < 20; turn++) await undefined;
      };
      pending.push({ op, endpoint: row.handle.endpoint, settle });
      return promise;
    },
    trouble: (key: string) => void troubles.add(key),
    clear: (key: string) => void troubles.delete(key),
  };
  const rows = new Map(['a', 'b'].map((name) => [name, { handle: handle(name, `i2c-${name}`) }]));
  const table = { find: (name: string) => rows.get(name)! };
  const options = { table, user, speeds: {}, log: own.log, scope: own.scope } as unknown as TransfersOptions;
  const transfers = new Transfers(options);
  /** Begins a transfer; its failure is of no interest. */
  const begin = (name = 'a') => void transfers.transfer(name, [{ read: 1 }]).catch(() => undefined);
  return {
    begin,
    pending,
    troubles,
    transfers,
    recover: (name = 'a') => void transfers.recover(rows.get(name) as never).catch(() => undefined),
  };
}

test('a transfer that began before the bus was found stuck does not heal it, however late it is heard of', async () => {
  await using own = part();
  const { begin, pending, troubles } = bus(own);
  begin(); // of the second user
  begin();
  await pending[1]!.settle(true);
  assert.equal(pending[2]!.op, OP.recover);
  await pending[2]!.settle(true);
  assert.deepEqual([...troubles], ['i2c-a']);
  await pending[0]!.settle(false);
  assert.deepEqual([...troubles], ['i2c-a'], 'it was on the bus before');
  begin();
  await pending[3]!.settle(false);
  assert.deepEqual([...troubles], []);
});

test('a recovery that failed says nothing of a bus on which a later transfer worked', async () => {
  await using own = part();
  const { begin, pending, troubles, recover } = bus(own);
  recover();
  begin();
  await pending[1]!.settle(false);
  await pending[0]!.settle(true);
  assert.deepEqual([...troubles], []);
});

test('each endpoint is told by itself', async () => {
  await using own = part();
  const { begin, pending, troubles, recover } = bus(own);
  recover('a');
  await pending[0]!.settle(true);
  begin('b');
  await pending[1]!.settle(false);
  assert.deepEqual([...troubles], ['i2c-a']);
  recover('a');
  await pending[2]!.settle(false);
  assert.deepEqual([...troubles], []);
});

test('in any order of arrival, the request that began last of all that spoke decides', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ recovery: fc.boolean(), stuck: fc.boolean(), at: fc.nat() }), { maxLength: 12 }),
      async (steps) => {
        await using own = part();
        const { begin, pending, troubles, recover } = bus(own);
        let decided = { began: -1, stuck: false };
        const open: number[] = [];
        for (const { recovery, stuck, at } of steps) {
          const before = pending.length;
          if (recovery) recover();
          else begin();
          if (pending.length > before) open.push(before); // else it waits for the recovery that is under way
          const index = open.splice(at % open.length, 1)[0];
          if (index === undefined) continue;
          const { op, settle } = pending[index]!;
          const asked = pending.length;
          await settle(stuck);
          // A transfer that finds it stuck begins a recovery, which speaks for it.
          for (let next = asked; next < pending.length; next++) open.push(next);
          if (op === OP.recover || !stuck) if (index > decided.began) decided = { began: index, stuck };
          assert.equal(troubles.has('i2c-a'), decided.stuck);
        }
        for (const index of open) await pending[index]!.settle(false);
      },
    ),
    { numRuns: runs(200) },
  );
});
