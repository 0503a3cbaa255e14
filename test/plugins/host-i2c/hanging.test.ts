/** Drivers of the kernel that do not return: real threads of the pool stand still in a read of a pipe. */
import assert from 'node:assert/strict';
import { closeSync, writeSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { leakCheck } from '@device-core/plugin-api/testing';
import koffi from 'koffi';
import { HostBus } from '../../../plugins/hardware/shared/host/host-bus.ts';
import { Threads } from '../../../plugins/hardware/shared/host/threads.ts';
import { startCore } from '../../fixtures/core.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const BUSES = ['i2c-1', 'i2c-2', 'i2c-3', 'i2c-4'];
const library = koffi.load(null);
const read = library.func('int read(int fd, void *bytes, unsigned long count)') as unknown as {
  async(fd: number, bytes: Buffer, count: number, done: () => void): void;
};

it('a Core whose host buses all hang answers GET /health, reads files and tells callers in their time', async () => {
  const ends = Buffer.alloc(8);
  library.func('int pipe(void *ends)')(ends);
  const [from, to] = [ends.readInt32LE(0), ends.readInt32LE(4)];
  // The pool of this process has its usual four threads: with a turn for each bus it would stand still.
  const threads = new Threads(Number(process.env.UV_THREADPOOL_SIZE ?? 4));
  let returned = 0;
  const hang = () =>
    threads.run(
      () =>
        new Promise<Uint8Array>((resolve) => {
          read.async(from, Buffer.alloc(1), 1, () => {
            returned++;
            resolve(new Uint8Array(0));
          });
        }),
    );
  await using own = part();
  const core = await startCore({
    plugins: { operations: '^1.0.0', identity: '^1.0.0', system: '^1.0.0', http: '^1.0.0', endpoints: '^1.0.0' },
  });
  const hub = core.service(endpoints);
  const about = { plugin: 'host-i2c', class: 2, maxTransfer: 4_096, scope: own.scope, log: own.log };
  for (const endpoint of BUSES) {
    const open = () => ({ boot: 'one', request: hang, close: () => undefined });
    const bus = own.scope.use(endpoint, new HostBus({ ...about, endpoint, path: `/dev/${endpoint}`, open }));
    await bus.start();
    hub.serve(bus);
  }
  const outcomes = BUSES.map((name) =>
    hub.request(name, 1, new Uint8Array(0), { deadlineMs: 50 }).catch((error: unknown) => error),
  );
  for (const outcome of await Promise.all(outcomes))
    assert.ok(outcome instanceof CoreError && outcome.code === 'TIMEOUT');
  await Promise.all(Array.from({ length: 20 }, () => stat('/')));
  const health = await new Promise((resolve, reject) => {
    const asked = { socketPath: join(core.paths.run, 'core.sock'), path: '/health', agent: false };
    request(asked, (answer) => json(answer).then(resolve, reject))
      .on('error', reject)
      .end();
  });
  assert.ok(Object(health).components);
  assert.equal(returned, 0, 'no driver has returned yet');
  writeSync(to, Buffer.alloc(BUSES.length));
  await Promise.all(
    BUSES.map((name) => hub.request(name, 1, new Uint8Array(0), { deadlineMs: 50 }).catch(() => undefined)),
  );
  writeSync(to, Buffer.alloc(BUSES.length));
  while (returned < 2 * BUSES.length) await stat('/');
  await core.stop();
  closeSync(from);
  closeSync(to);
});
