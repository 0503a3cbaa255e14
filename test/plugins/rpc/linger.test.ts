/** A stream that an app has closed goes on as long as the plugin takes what was written, and no longer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller, Session } from '@device-core/plugin-api';
import type { Operations, StreamChannel } from '@device-core/plugin-api/services/operations';
import type { Counters } from '../../../plugins/interface/rpc/counters.ts';
import type { Deadlines, Expiring } from '../../../plugins/interface/rpc/deadlines.ts';
import { SessionStreams } from '../../../plugins/interface/rpc/session-streams.ts';

test('data that was written ahead is taken to its end, and a plugin that hangs is given up', async () => {
  const sent: { readonly method: string; readonly params: { readonly error?: object } }[] = [];
  const waiting: Expiring[] = [];
  let channel: StreamChannel | undefined;
  const operations: Partial<Operations> = {
    streams: async () => [{ name: 'sound', summary: 'Sound', direction: 'write' } as never],
    openStream: async (_name, _params, opened) => {
      channel = opened;
      return { done: new Promise(() => undefined) };
    },
  };
  const limits = { streams: 4, streamCredit: 4_096, lineBytes: 4_096, attachmentBytes: 4_096 };
  const who = { session: { id: 's' } as unknown as Session, caller: { kind: 'app', id: 'a' } as Caller };
  const deadlines = { add: (entry: Expiring) => void waiting.push(entry) } as unknown as Deadlines;
  const port = { send: (message: object) => void sent.push(message as never), deliver: async () => undefined };
  const streams = new SessionStreams({
    port,
    who,
    operations: operations as Operations,
    counters: {} as Counters,
    deadlines,
    limits,
  });

  const { id } = await streams.open({ stream: 'sound' });
  streams.announce(id);
  for (const _ of [1, 2]) streams.write({ id }, Buffer.alloc(1_000));
  streams.close(id);
  const incoming = channel!.incoming[Symbol.asyncIterator]();
  for (const _ of [1, 2]) {
    assert.equal((await incoming.next()).value?.length, 1_000);
    // The time is over, but something was taken meanwhile.
    waiting.shift()!.expire();
    assert.deepEqual([streams.size, waiting.length], [1, 1]);
  }
  waiting.shift()!.expire();
  assert.equal(streams.size, 0);
  assert.equal(sent.at(-1)?.method, 'stream.end');
  assert.match(JSON.stringify(sent.at(-1)?.params.error), /TIMEOUT/);
});
