/** Streams of the screen: pixels and images from apps, frames to whoever watches. Nobody is read who is not seen. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { StreamChannel } from '@device-core/plugin-api/services/operations';
import { toRgba } from '../../../plugins/display/display/video-stream.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { png } from '../../fixtures/grey-png.ts';
import { AGENDA, bootApps, callerOf, RADIO } from './apps-fixture.ts';
import { scene } from './fixture.ts';

const ALL = { config: { autoShow: ['*'] } };
const VIDEO = { scene: 1, nodes: [{ kind: 'video', id: 'v', x: 0, y: 0, w: 320, h: 240, stream: 'camera' }] };
const CAMERA = { stream: 'camera', width: 320, height: 240, format: 'rgb565' };

function rect(x: number, y: number, w: number, h: number, pixel: readonly number[] = [0, 0xf8]): Buffer {
  const head = Buffer.alloc(8);
  for (const [index, value] of [x, y, w, h].entries()) head.writeUInt16LE(value, index * 2);
  return Buffer.concat([head, ...Array.from({ length: w * h }, () => Buffer.from(pixel))]);
}

/** An app that writes; `taken` counts what was read of it, `sent` is what it was sent. */
class Channel implements StreamChannel {
  readonly id = 'test';
  readonly #over = new AbortController();
  readonly signal = this.#over.signal;
  readonly incoming: AsyncIterable<Uint8Array>;
  readonly sent: Uint8Array[] = [];
  taken = 0;
  /** Set, what is sent waits for it. */
  slow: Promise<void> | undefined;

  constructor(pieces: Iterable<Uint8Array> = []) {
    const taken = () => {
      this.taken += 1;
    };
    this.incoming = (async function* () {
      for (const piece of pieces) {
        taken();
        yield piece;
      }
    })();
  }

  async send(chunk: Uint8Array): Promise<void> {
    this.sent.push(chunk);
    await this.slow;
  }

  end(): void {
    this.#over.abort();
  }
}

test('colours of both formats become the same picture', () => {
  assert.deepEqual(
    [...toRgba(Uint8Array.of(0, 0xf8, 0xe0, 0x07, 0x1f, 0), 'rgb565')],
    [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255],
  );
  assert.deepEqual([...toRgba(Uint8Array.of(1, 2, 3, 99), 'rgbx')], [1, 2, 3, 255]);
});

test('rectangles reach the node, in pieces of any size', async () => {
  await using bench = await bootApps(ALL);
  await bench.run(AGENDA, 'display.show', VIDEO);
  await eventually(() => bench.renderer.surfaces.size === 1, 'it is shown');
  const bytes = Buffer.concat([rect(0, 0, 4, 4), rect(316, 236, 4, 4)]);
  const pieces = Array.from({ length: Math.ceil(bytes.length / 5) }, (_, index) =>
    bytes.subarray(index * 5, index * 5 + 5),
  );
  await bench.table.stream('display.surface', CAMERA, pieces, { caller: callerOf(AGENDA) });
  const one = { surface: `app:${AGENDA}`, stream: 'camera', bytes: 64 };
  assert.deepEqual(bench.renderer.videos, [one, one]);
});

for (const [what, bytes, reason] of [
  ['a rectangle outside', rect(318, 0, 4, 1), /not within 320 x 240/],
  ['an empty rectangle', rect(0, 0, 0, 4), /not within/],
  ['half a rectangle', rect(0, 0, 4, 4).subarray(0, 20), /it ended after 12 of 32 bytes/],
] as const)
  test(`${what} ends the stream`, async () => {
    await using bench = await bootApps(ALL);
    await bench.run(AGENDA, 'display.show', VIDEO);
    const stream = bench.table.stream('display.surface', CAMERA, [bytes], { caller: callerOf(AGENDA) });
    await assert.rejects(stream, { code: 'PARAMS_INVALID', message: reason });
    assert.deepEqual(bench.renderer.videos, []);
  });

test('an app that is not seen, or faster than the renderer, is not read', async () => {
  await using bench = await bootApps(ALL);
  await assert.rejects(bench.table.stream('display.surface', CAMERA, [], { caller: callerOf(AGENDA) }), {
    code: 'NOT_FOREGROUND',
  });
  await bench.run(AGENDA, 'display.show', VIDEO);
  await bench.display.home();
  const channel = new Channel(Array.from({ length: 1_000 }, () => rect(0, 0, 2, 2)));
  const { done } = await bench.table.openStream('display.surface', CAMERA, channel, { caller: callerOf(AGENDA) });
  await turns();
  assert.equal(channel.taken, 0, 'hidden: nothing is read');
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.renderer.slow = promise;
  await bench.display.open(AGENDA);
  await turns();
  assert.equal(channel.taken, 1, 'the next one is read when this one is with the renderer');
  bench.renderer.slow = undefined;
  resolve();
  await done;
  assert.equal(bench.renderer.videos.length, 1_000);
});

test('an image over the socket has the name of its hash', async () => {
  await using bench = await bootApps(ALL);
  const bytes = png(20, 20);
  await bench.table.stream('display.images', {}, [bytes.subarray(0, 30), bytes.subarray(30)], {
    caller: callerOf(AGENDA),
  });
  const image = `sha256-${createHash('sha256').update(bytes).digest('hex')}`;
  await bench.run(AGENDA, 'display.show', { scene: 1, nodes: [{ kind: 'image', w: 20, h: 20, image }] });
  const large = Array.from({ length: 5 }, () => Buffer.alloc(1 << 20));
  await assert.rejects(bench.table.stream('display.images', {}, large, { caller: callerOf(AGENDA) }), {
    code: 'BODY_TOO_LARGE',
  });
  await assert.rejects(
    bench.table.stream('display.images', {}, [bytes.subarray(0, 30)], { caller: callerOf(AGENDA) }),
    {
      code: 'IMAGE_INVALID',
    },
  );
});

test('frames go to the operator, and to a slow one as joined damage', async () => {
  await using bench = await bootApps(ALL);
  await assert.rejects(bench.table.stream('display.frames', {}, [], { caller: callerOf(RADIO) }), {
    code: 'CAPABILITY_DENIED',
    message: /system\.display/,
  });
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('0') });
  await bench.shows(['0']);
  const channel = new Channel();
  const { promise, resolve } = Promise.withResolvers<void>();
  channel.slow = promise;
  const { done } = await bench.table.openStream('display.frames', {}, channel, { caller: callerOf('operator') });
  await bench.display.put({ id: 'main', layer: 'home', scene: scene('first') });
  await eventually(() => channel.sent.length === 1, 'a frame');
  for (let count = 0; count < 50; count += 1) {
    await bench.display.put({ id: 'main', layer: 'home', scene: scene(`${count}`) });
    await turns();
  }
  await bench.shows(['49']);
  await bench.renderer.painted();
  assert.equal(channel.sent.length, 1, 'it has not read the first one yet');
  channel.slow = undefined;
  resolve();
  await eventually(() => channel.sent.length === 2, 'the rest in one');
  const text = Buffer.from(channel.sent[1]!);
  const end = text.indexOf('\n');
  const head = JSON.parse(text.subarray(0, end).toString());
  assert.deepEqual(head, {
    width: 720,
    height: 720,
    format: 'xrgb8888',
    rects: [{ x: 0, y: 0, w: 1, h: 1 }],
    bytes: 4,
  });
  const last = bench.panel.frames.at(-1)!.pixels;
  assert.deepEqual([...text.subarray(end + 1)], [...last], 'the latest pixels');
  channel.end();
  await assert.rejects(done, { code: 'CANCELLED' });
});
