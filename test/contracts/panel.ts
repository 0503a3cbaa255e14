/** What every provider of `panel` must do, whatever glass is behind it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { Rect } from '@device-core/plugin-api/scene';
import { type Panel, type PanelInfo, PIXEL_BYTES, type PixelFormat } from '@device-core/plugin-api/services/panel';
import { eventually } from '../fixtures/eventually.ts';

export interface PanelUnderTest extends AsyncDisposable {
  readonly panel: Panel;
  /** Rows of what is on the glass, from the top, without gaps, in the format of the panel. */
  seen(): Promise<Uint8Array>;
  /** Its cable is pulled and put back; absent for a panel that cannot be lost. */
  unplug?(): Promise<void>;
  replug?(): Promise<void>;
}

export interface Look {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
}

/** Both formats, one of them on a glass that is no square and no multiple of anything. */
export const LOOKS: readonly Look[] = [
  { width: 720, height: 720, format: 'xrgb8888' },
  { width: 302, height: 177, format: 'rgb565' },
];

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, `it should have failed with an error of the table, not ${error}`);
  return error.code;
}

/** Pixels of one rectangle; each of its own, so that a row or a column that slips is seen. */
export function painted({ w, h }: Rect, format: PixelFormat, seed: number): Uint8Array {
  const bytes = PIXEL_BYTES[format];
  const pixels = new Uint8Array(w * h * bytes);
  for (let at = 0; at < pixels.length; at++) pixels[at] = seed * 31 + at * 7 + (at >> 8) * 13;
  // The fourth byte carries nothing, and a panel gives nothing back.
  if (bytes === 4) for (let at = 3; at < pixels.length; at += 4) pixels[at] = 0;
  return pixels;
}

export const whole = ({ width, height }: { readonly width: number; readonly height: number }): Rect => ({
  x: 0,
  y: 0,
  w: width,
  h: height,
});

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** The glass as it should be, painted by the test. */
class Expected {
  readonly #info: PanelInfo;
  readonly pixels: Uint8Array;

  constructor(info: PanelInfo) {
    this.#info = info;
    this.pixels = new Uint8Array(info.width * info.height * PIXEL_BYTES[info.format]);
  }

  put({ x, y, w, h }: Rect, pixels: Uint8Array): void {
    const bytes = PIXEL_BYTES[this.#info.format];
    for (let row = 0; row < h; row++)
      this.pixels.set(
        pixels.subarray(row * w * bytes, (row + 1) * w * bytes),
        ((y + row) * this.#info.width + x) * bytes,
      );
  }
}

/** The fourth byte of a pixel of 32 bits is nothing: whatever the glass has there. */
function colours(pixels: Uint8Array, format: PixelFormat): Buffer {
  const seen = Buffer.from(pixels);
  if (format === 'xrgb8888') for (let at = 3; at < seen.length; at += 4) seen[at] = 0;
  return seen;
}

/** Declares the tests; call it inside a `describe`, once for each look that the panel can have. */
export function panelContract(look: Look, open: (look: Look) => Promise<PanelUnderTest>): void {
  const sameAs = async (target: PanelUnderTest, expected: Expected, what: string) => {
    const seen = colours(await target.seen(), look.format);
    assert.ok(seen.equals(colours(expected.pixels, look.format)), what);
  };

  it('says what it is', async () => {
    await using target = await open(look);
    const info = await target.panel.info();
    assert.deepEqual([info.width, info.height, info.format], [look.width, look.height, look.format]);
    assert.ok(info.driver.length > 0 && info.refresh >= 1);
    assert.equal(typeof info.brightness, 'boolean');
    assert.equal(typeof info.power, 'boolean');
  });

  it('shows a whole frame, and then what changes, to the pixel', async () => {
    await using target = await open(look);
    const { panel } = target;
    const info = await panel.info();
    const expected = new Expected(info);
    const all = painted(whole(info), info.format, 1);
    expected.put(whole(info), all);
    const first = await panel.present({ seq: 1, rects: [whole(info)], pixels: all });
    await sameAs(target, expected, 'a whole frame');
    // Corners, a single pixel, a row, a column, and one that is none of these.
    const rects = [
      { x: 0, y: 0, w: 1, h: 1 },
      { x: info.width - 1, y: info.height - 1, w: 1, h: 1 },
      { x: 0, y: info.height - 1, w: info.width - 1, h: 1 },
      { x: info.width - 1, y: 0, w: 1, h: info.height - 1 },
      { x: 17, y: 9, w: 101, h: 53 },
    ];
    const parts = rects.map((rect, index) => painted(rect, info.format, index + 2));
    for (const [index, rect] of rects.entries()) expected.put(rect, parts[index]!);
    const second = await panel.present({ seq: 2, rects, pixels: joined(parts) });
    await sameAs(target, expected, 'five rectangles');
    assert.ok(second.at >= first.at, 'time went back');
  });

  it('shows the frame that came last, where several have painted', async () => {
    await using target = await open(look);
    const { panel } = target;
    const info = await panel.info();
    const expected = new Expected(info);
    const places = [
      whole(info),
      ...Array.from({ length: 6 }, (_, step) => ({ x: step * 9, y: step * 5, w: 80, h: 60 })),
    ];
    for (const [index, rect] of places.entries()) {
      const pixels = painted(rect, info.format, index + 20);
      expected.put(rect, pixels.slice());
      await panel.present({ seq: index + 1, rects: [rect], pixels });
    }
    await sameAs(target, expected, 'frames over each other');
  });

  it('begins anew with seq 1, for another renderer', async () => {
    await using target = await open(look);
    const info = await target.panel.info();
    const expected = new Expected(info);
    for (const [seq, seed] of [
      [1, 40],
      [2, 41],
      [1, 42],
    ] as const) {
      const pixels = painted(whole(info), info.format, seed);
      expected.put(whole(info), pixels.slice());
      await target.panel.present({ seq, rects: [whole(info)], pixels });
    }
    await sameAs(target, expected, 'the last of them');
  });

  it('takes one frame at a time', async () => {
    await using target = await open(look);
    const info = await target.panel.info();
    const frame = (seq: number) => ({ seq, rects: [whole(info)], pixels: painted(whole(info), info.format, seq) });
    const [one, other] = await Promise.allSettled([target.panel.present(frame(1)), target.panel.present(frame(2))]);
    assert.equal(one.status, 'fulfilled');
    // Behind a border the second may come when the first is done.
    if (other.status === 'rejected') assert.equal((other.reason as CoreError).code, 'PANEL_UNAVAILABLE');
    const expected = new Expected(info);
    expected.put(whole(info), frame(3).pixels);
    await target.panel.present(frame(3));
    await sameAs(target, expected, 'the frame after both');
  });

  it('refuses what it cannot put on the glass, and shows the next frame', async () => {
    await using target = await open(look);
    const { panel } = target;
    const info = await panel.info();
    const expected = new Expected(info);
    const all = painted(whole(info), info.format, 60);
    expected.put(whole(info), all);
    await panel.present({ seq: 1, rects: [whole(info)], pixels: all.slice() });
    const bytes = PIXEL_BYTES[info.format];
    const dot = { x: 0, y: 0, w: 1, h: 1 };
    const cases: readonly (readonly [what: string, rects: readonly Rect[], bytes: number])[] = [
      ['no rectangle', [], 0],
      ['nine', Array.from({ length: 9 }, (_, x) => ({ ...dot, x })), 9 * bytes],
      ['a byte less', [{ x: 0, y: 0, w: 4, h: 4 }], 16 * bytes - 1],
      ['a pixel more', [{ x: 0, y: 0, w: 4, h: 4 }], 17 * bytes],
      ['of the other format', [{ x: 0, y: 0, w: 4, h: 4 }], bytes === 4 ? 32 : 64],
      ['left of it', [{ x: -1, y: 0, w: 4, h: 4 }], 16 * bytes],
      ['above it', [{ x: 0, y: -4, w: 4, h: 4 }], 16 * bytes],
      ['beyond its right', [{ x: info.width - 3, y: 0, w: 4, h: 4 }], 16 * bytes],
      ['below it', [{ x: 0, y: info.height, w: 4, h: 4 }], 16 * bytes],
      ['empty', [{ x: 0, y: 0, w: 0, h: 4 }], 0],
      ['backwards', [{ x: 8, y: 8, w: -4, h: -4 }], 16 * bytes],
      ['half a pixel', [{ x: 0.5, y: 0, w: 4, h: 4 }], 16 * bytes],
      ['no number', [{ x: Number.NaN, y: 0, w: 4, h: 4 }], 16 * bytes],
      ['huge', [{ x: 0, y: 0, w: 2 ** 31, h: 2 ** 31 }], 16],
      [
        'over another',
        [
          { x: 0, y: 0, w: 4, h: 4 },
          { x: 3, y: 3, w: 4, h: 4 },
        ],
        32 * bytes,
      ],
    ];
    for (const [index, [what, rects, length]] of cases.entries())
      assert.equal(
        await codeOf(panel.present({ seq: index + 2, rects, pixels: new Uint8Array(length) })),
        'PARAMS_INVALID',
        what,
      );
    await sameAs(target, expected, 'a refused frame left a trace');
    const pixels = painted(dot, info.format, 61);
    expected.put(dot, pixels);
    await panel.present({ seq: 100, rects: [dot], pixels: pixels.slice() });
    await sameAs(target, expected, 'the next frame');
  });

  it('is dimmed from 0 to 1, and by no other number', async () => {
    await using target = await open(look);
    const { brightness } = await target.panel.info();
    if (!brightness) return;
    for (const level of [0, 0.01, 0.5, 1]) await target.panel.brightness(level);
    for (const level of [-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY])
      assert.equal(await codeOf(target.panel.brightness(level)), 'PARAMS_INVALID', String(level));
  });

  it('is switched off and on, and shows the whole frame that comes then', async () => {
    await using target = await open(look);
    const info = await target.panel.info();
    if (!info.power) return;
    const frame = (seq: number) => ({ seq, rects: [whole(info)], pixels: painted(whole(info), info.format, seq) });
    await target.panel.present(frame(1));
    await target.panel.power(false);
    await target.panel.power(false);
    // Nobody should, but whoever does is not left waiting.
    await target.panel.present(frame(2));
    await target.panel.power(true);
    const expected = new Expected(info);
    expected.put(whole(info), frame(3).pixels);
    await target.panel.present(frame(3));
    await sameAs(target, expected, 'after it was off');
  });

  it('tells when it is lost and when it is back, and fails in between', async (t) => {
    await using target = await open(look);
    const { panel, unplug, replug } = target;
    if (!unplug || !replug) return t.skip('this panel cannot be lost');
    const info = await panel.info();
    const frame = (seq: number) => ({ seq, rects: [whole(info)], pixels: painted(whole(info), info.format, seq) });
    const told: (string | undefined)[] = [];
    const deaf: unknown[] = [];
    using _told = panel.onChange(({ problem }) => void told.push(problem));
    panel.onChange((state) => void deaf.push(state))[Symbol.dispose]();
    await panel.present(frame(1));
    assert.deepEqual(told, []);
    await unplug();
    await eventually(() => told.length === 1, 'word that it is gone');
    assert.notEqual(told.join(), '', 'with a reason');
    assert.equal(await codeOf(panel.present(frame(2))), 'PANEL_UNAVAILABLE');
    assert.equal(await codeOf(panel.present(frame(3))), 'PANEL_UNAVAILABLE', 'a frame that failed holds no place');
    await replug();
    await eventually(() => told.length === 2, 'word that it is back');
    assert.equal(told[1], undefined);
    const expected = new Expected(info);
    expected.put(whole(info), frame(4).pixels);
    await panel.present(frame(4));
    await sameAs(target, expected, 'after it came back');
    assert.deepEqual(deaf, [], 'who does not listen any more hears nothing');
  });
}
