import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { escapeUnseen, firstUnseen, UNSEEN } from '@device-core/plugin-api/kits/characters';
import { cell } from '@device-core/plugin-api/program';
import fc from 'fast-check';

/** Ranges of characters that change a line and are not seen, each with a name of the field. */
const RANGES: readonly (readonly [name: string, from: number, to: number])[] = [
  ['controls of C0', 0x00, 0x1f],
  ['delete and controls of C1', 0x7f, 0x9f],
  ['soft hyphen', 0xad, 0xad],
  ['joiner of graphemes', 0x34f, 0x34f],
  ['mark of Arabic letters', 0x61c, 0x61c],
  ['fillers of Hangul', 0x115f, 0x1160],
  ['inherent vowels of Khmer', 0x17b4, 0x17b5],
  ['separator of Mongolian vowels', 0x180e, 0x180e],
  ['signs of no width and marks of direction', 0x200b, 0x200f],
  ['line, paragraph, embeddings', 0x2028, 0x202e],
  ['word joiner and invisible operators', 0x2060, 0x2064],
  ['isolates and old formats', 0x2066, 0x206f],
  ['filler of Hangul', 0x3164, 0x3164],
  ['halves of pairs', 0xd800, 0xdfff],
  ['byte order mark', 0xfeff, 0xfeff],
  ['filler of half width', 0xffa0, 0xffa0],
  ['marks of annotations', 0xfff9, 0xfffb],
  ['formats of music', 0x1d173, 0x1d17a],
  ['tags', 0xe0020, 0xe007f],
];

const SEEN = [
  ...[
    'plain words',
    'naïve Ünïcödé',
    '日本語の題名',
    'العنوان ٣',
    'שלום',
    'हिन्दी',
    'ภาษาไทย',
    '한국어',
    'Ελληνικά',
    'Русский',
  ],
  ...['❤️ 👍🏽 🇩🇪 1️⃣', '\u0600\u0661 \u06dd\u0662', 'a\u00a0b\u3000c', '\ue000', '\u{1f600}'],
];

describe('characters that a person does not see', () => {
  for (const [name, from, to] of RANGES)
    it(`are written by their number: ${name}`, () => {
      for (let code = from; code <= to; code++) {
        const text = `1${String.fromCodePoint(code)}2`;
        const shown = escapeUnseen(text);
        assert.match(shown, /^1\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|u\{[0-9a-f]{5}\})2$/, code.toString(16));
        assert.equal(Number.parseInt(shown.replaceAll(/[^0-9a-f]/g, '').slice(1, -1), 16), code);
        assert.equal(cell(text), shown);
        assert.ok(UNSEEN.test(text));
      }
    });

  it('are none of those that a title needs', () => {
    for (const text of SEEN) assert.equal(escapeUnseen(text), text);
  });

  it('stand in no escaped text, and an escaped text stays as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const shown = escapeUnseen(text);
        assert.equal(firstUnseen(shown), undefined);
        assert.equal(escapeUnseen(shown), shown);
      }),
    );
  });
});
