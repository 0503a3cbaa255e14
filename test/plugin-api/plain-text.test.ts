/** Texts with which a stranger names something: which characters may stand in them, and how they are shown where they stand there all the same. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SCHEMA_WORDS, textFault } from '@device-core/plugin-api/inside/manifest-check';
import { escapeUnseen, firstUnseen } from '@device-core/plugin-api/kits/characters';
import { cell } from '@device-core/plugin-api/program';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

// Not typed: the types of browsers would count for every other test.
const page: string = '../../plugins/interface/web/ui/parts/said.ts';
const { clean } = (await import(page)) as { readonly clean: (text: string) => string };

/** Titles that are shown as they are, everywhere. */
const PLAIN: Readonly<Record<string, string>> = {
  English: 'Tea 2.0, "the best" & <b>',
  German: 'Küchenuhr für Größen',
  French: 'L’été à Noël',
  Czech: 'Žižkov',
  Greek: 'Ελληνικά',
  Russian: 'Погода',
  Japanese: '日本語の題名',
  Arabic: 'مدير المواعيد',
  Hebrew: 'שלום עולם',
  Thai: 'ภาษาไทย',
  Korean: '한국어',
  'Persian, with a joiner': 'می\u200cخواهم',
  'Hindi, with a joiner': 'क्\u200dष',
  'Malayalam, which ends with a joiner': 'അവന്\u200d',
  'German, with a joiner': 'Auf\u200clage',
  'a family': '👨\u200d👩\u200d👧\u200d👦 Familie',
  'a family of one skin': '👩🏽\u200d🚀',
  'a heart on fire': '❤\ufe0f\u200d🔥',
  'a flag of a country': '🇩🇪',
  'a flag of two pictures': '🏳\ufe0f\u200d🌈',
  'a flag of a region': '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
  keycaps: '1\ufe0f\u20e3 #\ufe0f\u20e3',
  'tones of skin': '👍🏻👍🏿',
  'ten thousand characters': 'abcdé日'.repeat(1_667),
};

/** Titles that are refused, with the place of the character in question. */
const REFUSED: readonly (readonly [what: string, text: string, at: number, sign: string])[] = [
  ['a colour of a terminal', 'Tea\u001b[31m', 4, '\\x1b'],
  ['a title of a window', '\u001b]0;root\u0007', 1, '\\x1b'],
  ['an end of the line', 'Tea\nCore: all is well', 4, '\\x0a'],
  ['a tab', 'a\tb', 2, '\\x09'],
  ['a control of C1', 'a\u009bb', 2, '\\x9b'],
  ['a separator of lines', 'a\u2028b', 2, '\\u2028'],
  ['a separator of paragraphs', 'a\u2029b', 2, '\\u2029'],
  ['a mark of the other direction', '日本\u202egpj', 3, '\\u202e'],
  ['an isolate', '👍\u2066x\u2069', 2, '\\u2066'],
  ['a mark of Arabic letters', 'a\u061cb', 2, '\\u061c'],
  ['a space of no width', 'Device\u200bCore', 7, '\\u200b'],
  ['a byte order mark', '\ufeffTea', 1, '\\ufeff'],
  ['a joiner at its end', 'Tea\u200d', 4, '\\u200d'],
  ['a joiner between a letter and an emoji', 'a\u200d👍', 2, '\\u200d'],
  ['two joiners in an emoji', '👩\u200d\u200d🚀', 2, '\\u200d'],
  ['hidden tags', 'Tea\u{e0068}\u{e0069}\u{e007f}', 4, '\\u{e0068}'],
  ['half of a pair', 'a\ud800b', 2, '\\ud800'],
];

describe('a title', () => {
  for (const [what, text] of Object.entries(PLAIN))
    it(`may be one in ${what}, and is shown as it is in the terminal and on the page`, () => {
      assert.equal(textFault(text, 'line'), undefined);
      assert.deepEqual([cell(text), clean(text), escapeUnseen(text)], [text, text, text]);
    });

  for (const [what, text, at, sign] of REFUSED)
    it(`may not hold ${what}, which is named with its place, and is shown by its number`, () => {
      assert.equal(textFault(text, 'line'), `must have no characters that are not seen: character ${at} is ${sign}`);
      assert.ok(cell(text).includes(sign), cell(text));
      assert.ok(!cell(text).includes(text));
    });

  it('may not consist of blanks', () => {
    for (const text of [' ', '\u00a0\u3000 ']) assert.match(textFault(text, 'line') ?? '', /blanks/);
  });

  it('is judged in a moment however long it is', () => {
    for (const unit of ['👩\u200d', '\ufe0f', '🏴\u{e0067}', 'a\u200c', '\u200d'])
      assert.doesNotThrow(() => [firstUnseen(unit.repeat(100_000)), escapeUnseen(unit.repeat(100_000))]);
  });

  it('of allowed characters is shown as it is, and a shown title has allowed characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        assert.equal(firstUnseen(text) === undefined, escapeUnseen(text) === text);
        assert.equal(firstUnseen(escapeUnseen(text)), undefined);
      }),
      { numRuns: runs(1_000) },
    );
  });
});

describe('a description', () => {
  it('keeps its line breaks, and may hold nothing else of the kind', () => {
    assert.equal(textFault('one\ntwo\r\n\nthree', 'lines'), undefined);
    for (const [what, text] of REFUSED)
      if (!text.includes('\n')) assert.notEqual(textFault(text, 'lines'), undefined, what);
    assert.notEqual(textFault('one\ttwo', 'lines'), undefined);
  });

  it('keeps its line breaks and tabs on the page', () => {
    assert.equal(clean('one\n\ttwo\u202e 👩\u200d🚀'), 'one\n\ttwo\\u202e 👩\u200d🚀');
    assert.equal(clean('\u001b[31mred\u001b[0m'), 'red');
  });
});

it('a schema asks for it with one word', () => {
  const ajv = new Ajv({ keywords: SCHEMA_WORDS });
  const fits = ajv.compile({ type: 'string', plainText: 'line' });
  assert.ok(fits('Tea'));
  assert.ok(!fits('T\u202e'));
  assert.match(ajv.errorsText(fits.errors), /character 2 is \\u202e/);
  assert.throws(() => ajv.compile({ type: 'string', plainText: 'pages' }));
});
