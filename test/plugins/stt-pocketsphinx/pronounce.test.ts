import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { commandOf, withGarbage } from '../../../plugins/voice/stt-pocketsphinx/grammar.ts';
import { pronounce } from '../../../plugins/voice/stt-pocketsphinx/pronounce.ts';
import { runs } from '../../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

describe('pronunciations of words that no dictionary has', () => {
  for (const [word, phones] of [
    ['blick', 'B L IH K'],
    ['shake', 'SH EY K'],
    ['station', 'S T AE SH AH N'],
    ['knight', 'N AY T'],
    ['phono', 'F AA N OW'],
    ['be', 'B EH'],
    ['Señor', 'S EH N ER'],
    ["o'neil", 'AA N IY L'],
  ] as const)
    it(`${word}: ${phones}`, () => assert.equal(pronounce(word), phones));

  it('are phones of the model, and at least one, for every word of Latin letters', () => {
    const known = /^(A[AEHOWY]|B|CH|DH?|E[HRY]|F|G|HH|I[HY]|JH|K|L|M|NG?|O[WY]|P|R|SH?|TH?|U[HW]|V|W|Y|ZH?)$/;
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{1,20}$/), (word) => {
        const phones = pronounce(word)?.split(' ') ?? [];
        assert.ok(phones.length > 0 && phones.every((phone) => known.test(phone)), `${word}: ${phones}`);
      }),
    );
  });

  it('are not made of anything else', () => {
    for (const word of ['', '42', 'a1', '漢', '_aa', 'a b', 'x'.repeat(41)])
      assert.equal(pronounce(word), undefined, word);
  });
});

describe('the grammar with garbage', () => {
  it('has one public rule, which is the first, for any sentences', () => {
    const jsgf = '#JSGF V1.0 UTF-8;\ngrammar commands;\npublic <command> = stop | <x>;\npublic <x> = go;\n';
    const made = withGarbage(jsgf, ['hey you']);
    assert.deepEqual(made.match(/public <\w+>/g), ['public <heard>']);
    assert.match(made, /public <heard> = \[hey you\] <command> \| <garbage>;/);
    assert.equal(made.match(/grammar /g)?.length, 1);
    assert.equal(made.match(/#JSGF/g)?.length, 1);
  });

  for (const [text, command] of [
    ['turn it on', 'turn it on'],
    ['hey you turn it on', 'turn it on'],
    ['hey youth', 'hey youth'],
    ['_aa _b turn', undefined],
    ['', undefined],
  ] as const)
    it(`${JSON.stringify(text)} is the command ${JSON.stringify(command)}`, () =>
      assert.equal(commandOf(text, ['hey you']), command));
});
