/** Tables of characters of fonts from elsewhere: what they cost is bounded by their length. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { coverageOf, covers } from '../../../plugins/display/render-skia/coverage.ts';

const require = createRequire(import.meta.url);
type Segment = readonly [first: number, last: number];

/** A font of nothing but a table of characters. */
function font(table: Buffer): Buffer {
  const head = Buffer.alloc(28);
  head.writeUInt32BE(0x0001_0000, 0);
  head.writeUInt16BE(1, 4);
  head.write('cmap', 12);
  head.writeUInt32BE(28, 20);
  head.writeUInt32BE(table.length + 12, 24);
  const index = Buffer.from('000000010003000a0000000c', 'hex');
  return Buffer.concat([head, index, table]);
}

const words = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2);
  values.forEach((value, at) => {
    bytes.writeUInt16BE(value & 0xffff, at * 2);
  });
  return bytes;
};

function segments(list: readonly Segment[]): Buffer {
  const rows = [list.map(([, last]) => last), [0], list.map(([first]) => first), list.map(() => 1), list.map(() => 0)];
  return font(words(4, 0, 0, list.length * 2, 0, 0, 0, ...rows.flat()));
}

function groups(list: readonly Segment[]): Buffer {
  const table = Buffer.alloc(16 + list.length * 12);
  table.writeUInt16BE(12, 0);
  table.writeUInt32BE(list.length, 12);
  list.forEach(([first, last], nth) => {
    table.writeUInt32BE(first, 16 + nth * 12);
    table.writeUInt32BE(last, 20 + nth * 12);
  });
  return font(table);
}

describe('the characters of a font', () => {
  for (const [form, made] of [
    ['segments', segments],
    ['groups', groups],
  ] as const) {
    it(`are read from ${form}`, () => {
      const coverage = coverageOf(
        made([
          [65, 90],
          [97, 122],
        ]),
      );
      assert.deepEqual(coverage, [
        [65, 90],
        [97, 122],
      ]);
      assert.deepEqual(
        [64, 65, 90, 91, 122].map((one) => covers(coverage, one)),
        [false, true, true, false, true],
      );
    });

    for (const [why, list] of [
      [
        'lie over each other',
        [
          [65, 90],
          [80, 122],
        ],
      ],
      [
        'come in another order',
        [
          [97, 122],
          [65, 90],
        ],
      ],
      ['end before they begin', [[90, 65]]],
      ['are the same ten thousand times', Array<Segment>(10_000).fill([1, 0xfffe])],
    ] as const satisfies readonly (readonly [string, readonly Segment[]])[])
      it(`are refused where ${form} ${why}`, () => {
        assert.throws(() => coverageOf(made(list)), /its table of characters is not in order/);
      });
  }

  it('are those of the fonts that come with the Core', () => {
    for (const kind of ['woff', 'woff2']) {
      const path = require.resolve(`@fontsource/inter/files/inter-latin-400-normal.${kind}`);
      assert.ok(covers(coverageOf(readFileSync(path)), 'A'.codePointAt(0)!), kind);
    }
  });
});
