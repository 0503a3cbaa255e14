/** The pure parts of painting: time, motion, lines of text, rectangles, targets, headers of pictures, contrast. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import {
  ANIMATED,
  bind,
  checkScene,
  contrast,
  describeScene,
  directionOf,
  hitTest,
  imageSize,
  isolated,
  joinRects,
  layoutText,
  overlap,
  quantised,
  type Rect,
  sceneAt,
  settled,
  TEXT_PAIRS,
  THEMES,
  type Timeline,
  valueAt,
} from '@device-core/plugin-api/scene';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { scenes, words } from './arbitrary.ts';

const NOON = Date.UTC(2026, 10, 22, 12, 34, 56, 789);
const world = (more: object = {}) => ({ now: NOON, locale: 'en', timeZone: 'UTC', ...more });

describe('a binding', () => {
  for (const [text, says, more] of [
    ['{time:HH:mm}', '12:34'],
    ['{time:H.mm.ss}', '12.34.56'],
    ['{time:h:mm a}', '12:34 PM'],
    ['{time:HH:mm}', '17:34', { timeZone: 'Asia/Karachi' }],
    ['{date:EEEE d MMMM yyyy}', 'Sunday 22 November 2026'],
    ['{date:EEE, dd.MM.yy}', 'So, 22.11.26', { locale: 'de' }],
    ['{date}', 'dimanche 22 novembre', { locale: 'fr' }],
    [`{countdown:${NOON}}`, '0:00'],
    [`{countdown:${NOON + 65_001}}`, '1:06'],
    [`{countdown:${NOON + 3_600_000}}`, '1:00:00'],
    [`{elapsed:${NOON}}`, '0:00'],
    [`{elapsed:${NOON + 5_000}}`, '0:00'],
    [`{elapsed:${NOON - 65_999}}`, '1:05'],
    [`{elapsed:${NOON - 3_605_000}}`, '1:00:05'],
    ['{progress}', '42%', { progress: 0.42 }],
    ['{{time} is {time:mm}', '{time} is 34'],
    ['none', 'none'],
  ] as readonly (readonly [string, string, object?])[])
    test(`${text} reads ${says}`, () => assert.equal(bind(text, world(more)).text, says));

  test('says when it looks different next, and until then it does not', () => {
    const binding = fc.constantFrom(
      '{time:HH:mm}',
      '{time:ss}',
      '{date}',
      '{date:EEEE d MMMM}',
      `{countdown:${NOON}}`,
      `{elapsed:${NOON}}`,
    );
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/New_York', 'Australia/Lord_Howe');
    const now = fc.integer({ min: NOON - 400 * 86_400_000, max: NOON + 400 * 86_400_000 });
    fc.assert(
      fc.property(
        binding,
        zone,
        now,
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (text, timeZone, at, share) => {
          const { text: says, next } = bind(text, world({ timeZone, now: at }));
          if (next === undefined) return assert.equal(says, '0:00');
          assert.ok(next > at, `${next} is not after ${at}`);
          const between = Math.min(next - 1, Math.floor(at + (next - at) * share));
          assert.equal(bind(text, world({ timeZone, now: between })).text, says);
        },
      ),
      { numRuns: runs(2_000) },
    );
  });
});

describe('a timeline', () => {
  const arbitrary: fc.Arbitrary<Timeline> = fc.record(
    {
      node: fc.constant('n'),
      property: fc.constantFrom(...ANIMATED),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
      to: fc.double({ min: 0, max: 1, noNaN: true }),
      ms: fc.integer({ min: 1, max: 10_000 }),
      delay: fc.integer({ min: 0, max: 10_000 }),
      ease: fc.constantFrom('linear', 'in', 'out', 'in-out', 'spring'),
      repeat: fc.integer({ min: 0, max: 5 }),
      alternate: fc.boolean(),
    },
    { requiredKeys: ['node', 'property', 'to', 'ms'] },
  ) as fc.Arbitrary<Timeline>;
  test('begins at from, ends at to and stays there, and goes not far beyond', () => {
    fc.assert(
      fc.property(arbitrary, fc.nat(100_000), (timeline, elapsed) => {
        const from = timeline.from ?? 0.5;
        assert.deepEqual(valueAt(timeline, 0.5, 0), { value: from, over: false });
        const { value } = valueAt(timeline, 0.5, elapsed);
        const far = Math.abs(timeline.to - from) * 0.25 + 1e-9;
        assert.ok(
          value >= Math.min(from, timeline.to) - far && value <= Math.max(from, timeline.to) + far,
          String(value),
        );
        if (timeline.repeat === 0) return;
        const end = (timeline.delay ?? 0) + timeline.ms * (timeline.repeat ?? 1);
        assert.deepEqual(valueAt(timeline, 0.5, end + elapsed), { value: timeline.to, over: true });
      }),
      { numRuns: runs(2_000) },
    );
  });
  test('quantised values differ by what can be seen, and by no more', () => {
    assert.equal(quantised('x', 10.26), 10.5);
    assert.equal(quantised('opacity', 0.5), 128 / 255);
  });
  test('of a scene ends in its nodes; one that is over does not count any more', () => {
    fc.assert(
      fc.property(scenes, fc.nat(20_000), (scene, now) => {
        const moment = sceneAt(scene, now, 0);
        checkScene(moment, 'the scene of a moment');
        const left = settled(scene, now, 0);
        const over = (timeline: Timeline): boolean => valueAt(timeline, 0, now).over;
        assert.deepEqual(
          left.timelines ?? [],
          (scene.timelines ?? []).filter((one) => !over(one)),
        );
        assert.deepEqual(sceneAt(scene, 1e9, 0).timelines ?? [], []);
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('lines of text', () => {
  const measure = (piece: string): number => [...piece].length;
  test('break at words, hold all of the text, and are no wider than they may be', () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 12, max: 60 }), (text, width) => {
        const { lines, cut } = layoutText(text, { width }, measure);
        assert.equal(cut, false);
        assert.equal(
          lines
            .map((line) => line.text)
            .join('')
            .replace(/\s/g, ''),
          text.replace(/\s/g, ''),
        );
        for (const line of lines) assert.ok(line.width <= width, JSON.stringify(line));
      }),
      { numRuns: runs(500) },
    );
  });
  test('that are too many end in an ellipsis at a word', () => {
    const { lines, cut } = layoutText('One two three, four five', { width: 9, lines: 2 }, measure);
    assert.deepEqual(
      lines.map(({ text }) => text),
      ['One two', 'three…'],
    );
    assert.equal(cut, true);
  });
  test('break between and inside of words of signs, as letters without a glyph are', () => {
    const lines = (text: string, width: number) => layoutText(text, { width }, measure).lines.map((line) => line.text);
    assert.deepEqual(lines('???? ?????? ?? ???', 8), ['????', '??????', '?? ???']);
    assert.deepEqual(lines('?'.repeat(20), 8), ['????????', '????????', '????']);
    assert.deepEqual(lines('Vraiment ? Oui, « bien » sûr.', 12), ['Vraiment ?', 'Oui, «', 'bien » sûr.']);
    fc.assert(
      fc.property(fc.stringMatching(/^[?a. ]{1,60}$/), fc.integer({ min: 4, max: 20 }), (text, width) => {
        for (const line of layoutText(text, { width }, measure).lines) assert.ok(line.width <= width, line.text);
      }),
      { numRuns: runs(300) },
    );
  });
  test('break inside a word that is longer than a line, and never inside a character', () => {
    const { lines } = layoutText(`${'👩‍👩‍👧‍👦'.repeat(3)}`, { width: 10 }, measure);
    assert.deepEqual(
      lines.map(({ text }) => text),
      ['👩‍👩‍👧‍👦', '👩‍👩‍👧‍👦', '👩‍👩‍👧‍👦'],
    );
    assert.deepEqual(
      layoutText('abcdefghij', { width: 4 }, measure).lines.map(({ text }) => text),
      ['abcd', 'efgh', 'ij'],
    );
  });
  test('end where the text says so', () => {
    assert.deepEqual(
      layoutText('a\n\nb', {}, measure).lines.map(({ text }) => text),
      ['a', '', 'b'],
    );
    assert.equal(layoutText('a\nb', { lines: 1 }, measure).lines[0]?.text, 'a…');
  });
  test('run as the first strong character says', () => {
    assert.equal(directionOf('12:30 مرحبا hello'), 'rtl');
    assert.equal(directionOf('(hello) שלום'), 'ltr');
    assert.equal(directionOf('12:30', 'rtl'), 'rtl');
    assert.equal(layoutText('שלום', {}, measure).dir, 'rtl');
  });
  test('of others are isolated, and their marks of direction are gone', () => {
    assert.equal(isolated('safe\u202eexe.app'), '\u2068safeexe.app\u2069');
  });
  test('of 2,000 marks upon one letter are one line', () => {
    assert.equal(
      layoutText(`a${'\u0301'.repeat(1_999)}`, { width: 10, lines: 3 }, (piece) => piece.length).lines.length,
      1,
    );
  });
});

test('joined rectangles cover all, lie over none of the others, and are few', () => {
  const rect = fc.record({ x: fc.nat(700), y: fc.nat(700), w: fc.nat(120), h: fc.nat(120) });
  fc.assert(
    fc.property(fc.array(rect, { maxLength: 80 }), (rects) => {
      const joined = joinRects(rects);
      assert.ok(joined.length <= 8);
      const within = (inner: Rect, outer: Rect): boolean =>
        inner.x >= outer.x &&
        inner.y >= outer.y &&
        inner.x + inner.w <= outer.x + outer.w &&
        inner.y + inner.h <= outer.y + outer.h;
      for (const one of rects) if (one.w > 0 && one.h > 0) assert.ok(joined.some((outer) => within(one, outer)));
      for (const [index, one] of joined.entries())
        for (const other of joined.slice(index + 1)) assert.equal(overlap(one, other), false);
    }),
    { numRuns: runs(500) },
  );
});

describe('a touch', () => {
  const button = (more: object) => ({ kind: 'rect', w: 200, h: 100, label: 'A', ...more });
  const hit = (nodes: readonly object[], x: number, y: number) =>
    hitTest(checkScene({ scene: 1, nodes }, 'the scene'), x, y)?.tap;
  const turned = {
    kind: 'group',
    x: 300,
    y: 300,
    w: 200,
    h: 200,
    rotate: 90,
    nodes: [button({ tap: 'a', w: 200, h: 40 })],
  };
  for (const [title, nodes, x, y, tap] of [
    ['meets the one above', [button({ tap: 'below' }), button({ tap: 'above', x: 50 })], 100, 50, 'above'],
    ['goes through what is no target', [button({ tap: 'a' }), { kind: 'text', text: 'A' }], 10, 10, 'a'],
    ['misses', [button({ tap: 'a' })], 300, 50, undefined],
    ['meets a small target beside it', [button({ tap: 'a', x: 100, y: 100, w: 20, h: 20 })], 140, 110, 'a'],
    ['misses a small target further away', [button({ tap: 'a', x: 100, y: 100, w: 20, h: 20 })], 160, 110, undefined],
    [
      'meets the nearer of two small ones',
      [button({ tap: 'a', w: 20, h: 20 }), button({ tap: 'b', x: 60, w: 20, h: 20 })],
      45,
      10,
      'b',
    ],
    [
      'meets what it is on before what is enlarged',
      [button({ tap: 'a', w: 20, h: 20 }), button({ tap: 'b', x: 24 })],
      30,
      10,
      'b',
    ],
    ['does not meet what is invisible', [button({ tap: 'a', opacity: 0 })], 10, 10, undefined],
    [
      'does not meet what a group cuts off',
      [{ kind: 'group', w: 50, h: 50, clip: true, nodes: [button({ tap: 'a' })] }],
      100,
      20,
      undefined,
    ],
    ['meets what a group turned', [turned], 480, 310, 'a'],
    ['does not meet where it was before the turn', [turned], 310, 490, undefined],
    [
      'meets a group by what it holds',
      [{ kind: 'group', tap: 'g', x: 10, nodes: [{ kind: 'rect', w: 90, h: 90 }] }],
      90,
      80,
      'g',
    ],
  ] as const)
    test(title, () => assert.equal(hit(nodes, x, y), tap));
});

test('a screen is told in words, a button once', () => {
  const scene = checkScene(
    {
      scene: 1,
      title: 'Agenda',
      nodes: [
        { kind: 'text', text: 'It is {time:HH:mm}' },
        {
          kind: 'group',
          label: 'Remind me',
          tap: 'remind',
          nodes: [
            { kind: 'rect', w: 1, h: 1 },
            { kind: 'text', text: 'Remind me' },
          ],
        },
        { kind: 'text', text: 'unseen', opacity: 0 },
      ],
    },
    'the scene',
  );
  assert.deepEqual(describeScene(scene, world()), ['Agenda', 'It is 12:34', '[Remind me]']);
});

describe('the header of a picture', () => {
  const chunk = (kind: string, data: Buffer = Buffer.alloc(0)): Buffer => {
    const head = Buffer.alloc(8);
    head.writeUInt32BE(data.length);
    head.write(kind, 4, 'latin1');
    return Buffer.concat([head, data, Buffer.alloc(4)]);
  };
  const png = (width: number, height: number, ...more: readonly Buffer[]): Buffer => {
    const size = Buffer.alloc(13);
    size.writeUInt32BE(width);
    size.writeUInt32BE(height, 4);
    return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', size), ...more, chunk('IEND')]);
  };
  const riff = (kind: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(20);
    head.write('RIFF', 0, 'latin1');
    head.writeUInt32LE(12 + body.length, 4);
    head.write(`WEBP${kind}`, 8, 'latin1');
    head.writeUInt32LE(body.length, 16);
    return Buffer.concat([head, body]);
  };
  const jpeg = Buffer.from('ffd8ffe000040000ffc0000b08012c019001010000ffd9', 'hex');
  const animated = Buffer.alloc(10);
  animated[0] = 2;
  for (const [title, bytes, result] of [
    ['of a PNG', png(640, 480), { type: 'png', width: 640, height: 480 }],
    ['of a JPEG', jpeg, { type: 'jpeg', width: 400, height: 300 }],
    [
      'of a lossy WebP',
      riff('VP8 ', Buffer.from('0000009d012a40012c01', 'hex')),
      { type: 'webp', width: 320, height: 300 },
    ],
    ['of a lossless WebP', riff('VP8L', Buffer.from('2f3f010000', 'hex')), { type: 'webp', width: 320, height: 1 }],
    [
      'of an extended WebP',
      riff('VP8X', Buffer.from('00000000ff00003f0000', 'hex')),
      { type: 'webp', width: 256, height: 64 },
    ],
    ['of a bomb', png(64_000, 64_000), /64000 x 64000, 2048 x 2048 are the limit/],
    ['of a PNG without size', png(0, 5), /no size/],
    ['of an animated PNG', png(10, 10, chunk('acTL', Buffer.alloc(8))), /animated/],
    ['of an animated WebP', riff('VP8X', animated), /animated/],
    ['of a PNG that is cut off', png(10, 10).subarray(0, -3), /cut off/],
    ['of a JPEG that is cut off', jpeg.subarray(0, -2), /cut off/],
    ['of a WebP that is cut off', riff('VP8X', Buffer.alloc(10)).subarray(0, 24), /cut off/],
    ['of an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), /SVG is not taken/],
    ['of a GIF', Buffer.from('GIF89a'), /GIF is not taken/],
    ['of a text', Buffer.from('hello, I am a picture'), /neither PNG/],
    ['of nothing', Buffer.alloc(0), /cut off|neither/],
    ['of 4 MiB and a byte', Buffer.alloc(4 * 1024 * 1024 + 1), /4194304 are the limit/],
  ] as const)
    test(title, () => {
      if (!(result instanceof RegExp)) return assert.deepEqual(imageSize(bytes, 'sun.png'), result);
      assert.throws(
        () => imageSize(bytes, 'sun.png'),
        (error) => error instanceof CoreError && error.code === 'IMAGE_INVALID' && result.test(error.message),
      );
    });
  test('of any bytes is read or refused, and never runs away', () => {
    const magic = fc.constantFrom(png(8, 8), jpeg, riff('VP8X', Buffer.alloc(10)), riff('VP8 ', Buffer.alloc(10)));
    fc.assert(
      fc.property(
        magic,
        fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 12 }),
        fc.nat(90),
        (whole, changes, length) => {
          const bytes = Buffer.from(whole).subarray(0, length);
          for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
          try {
            imageSize(bytes, 'x');
          } catch (error) {
            assert.ok(error instanceof CoreError && error.code === 'IMAGE_INVALID', String(error));
          }
        },
      ),
      { numRuns: runs(3_000) },
    );
  });
});

describe('every text of every theme can be read', () => {
  for (const theme of THEMES)
    test(theme.id, () => {
      for (const [ground, text] of TEXT_PAIRS) {
        const value = contrast(theme.colours[ground], theme.colours[text]);
        assert.ok(value >= 4.5, `${text} on ${ground}: ${value.toFixed(2)}`);
      }
    });
});
