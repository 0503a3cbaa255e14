/** Slots over the socket of a helper: the contract, and answers of somebody who is none. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { type Heeding, SlotWriter, slotRequests } from '@device-core/plugin-api/inside/slot-files';
import { leakCheck } from '@device-core/plugin-api/testing';
import { serve } from '../../../systemd/helpers/slots/serve.ts';
import { type SlotsBench, slotsContract } from '../../contracts/slots.ts';
import { startCore } from '../../fixtures/core.ts';
import { SlotDevice } from '../../fixtures/slot-device.ts';
import { PLUGINS, wished } from './wished.ts';

after(leakCheck());

describe('slots-files, asking a helper over its socket', () => {
  slotsContract(async (): Promise<SlotsBench> => {
    const box = new SlotDevice();
    const socket = join(box.root, 'slots.sock');
    let gate: ((progress: { done: number }) => void | Promise<void>) | undefined;
    const answer = slotRequests(new SlotWriter(box.places));
    const gated = (line: string, heeding: Heeding) =>
      answer(line, {
        ...heeding,
        progress: async (progress) => {
          await heeding.progress?.(progress);
          await gate?.(progress);
        },
      });
    const server = createServer().listen(socket);
    await once(server, 'listening');
    const ending = new AbortController();
    const over = serve(server, gated, { signal: ending.signal });
    const core = await startCore({ plugins: PLUGINS, config: { 'slots-files': { ...box.places, socket } } });
    return {
      slots: core.service(slots),
      machine: core.service(machine),
      image: wished(box),
      reboot: async () => box.start(),
      async held() {
        const go = Promise.withResolvers<void>();
        const begun = Promise.withResolvers<void>();
        gate = async () => {
          begun.resolve();
          await go.promise;
          gate = undefined;
        };
        await begun.promise;
        return go.resolve;
      },
      async [Symbol.asyncDispose]() {
        await core.stop();
        ending.abort();
        await over;
        box[Symbol.dispose]();
      },
    };
  });
});

describe('slots-files, asking a process that is no helper', () => {
  const answers: readonly (readonly [what: string, said: string])[] = [
    ['nothing', ''],
    ['half an answer', '{"ok":'],
    ['what is no JSON', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a text', '"ok"\n'],
    ['nobody’s answer', 'null\n'],
    ['an answer that is not known', '{"yes":1}\n'],
  ];
  for (const [what, said] of answers)
    test(`that says ${what}: SLOTS_UNAVAILABLE, and no plugin ends`, async () => {
      using box = new SlotDevice();
      const socket = join(box.root, 'slots.sock');
      const server = createServer((peer) => peer.once('data', () => peer.end(said))).listen(socket);
      await once(server, 'listening');
      try {
        await using core = await startCore({
          plugins: PLUGINS,
          config: { 'slots-files': { ...box.places, socket } },
        });
        await assert.rejects(core.service(slots).markGood(), { code: 'SLOTS_UNAVAILABLE' });
        assert.equal((await core.kernel.status()).state, 'ok');
      } finally {
        server.close();
      }
    });
});
