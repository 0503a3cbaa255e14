import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { checkRules, speakablePart } from '@device-core/plugin-api/audio';
import fc from 'fast-check';
import { grammarOf } from '../fixtures/commands.ts';
import { runs } from '../fixtures/runs.ts';

const isLatin = (word: string): boolean => /^[a-z']+$/.test(word);
/** The rules after the header, without line breaks. */
const rulesOf = (jsgf: string): readonly string[] => jsgf.split('\n').slice(2).filter(Boolean);
const part = (...rules: readonly string[]): readonly string[] =>
  rulesOf(speakablePart(grammarOf('test', ...rules), isLatin).jsgf);

suite('the speakable part of a grammar', () => {
  test('is the grammar itself where every word is speakable', () => {
    const grammar = grammarOf('test', 'public <command> = stop | open (a | b) {tag} /0.5/ <x>*;', '<x> = "said" ;');
    assert.equal(
      speakablePart(grammar, () => true),
      grammar,
    );
  });

  for (const [what, rules, left] of [
    ['an alternative', ['public <command> = stop | 停止;'], ['public <command> = stop;']],
    ['a sentence of several words', ['public <command> = stop | open 日本語 now;'], ['public <command> = stop;']],
    ['a value of a list', ['public <command> = open (tea | 日本語 | العربية);'], ['public <command> = open tea;']],
    ['an optional part alone', ['public <command> = stop [हिन्दी];'], ['public <command> = stop <NULL>;']],
    ['one of the optional parts', ['public <command> = stop [now | ไทย];'], ['public <command> = stop [now];']],
    [
      'a part that may be said any number of times',
      ['public <command> = stop 한국어*;'],
      ['public <command> = stop <NULL>;'],
    ],
    ['a sentence that needs a repeated word', ['public <command> = stop | 한국어+;'], ['public <command> = stop;']],
    ['a value within a repeated group', ['public <command> = (a b | 語)+ stop;'], ['public <command> = (a b)+ stop;']],
    [
      'a rule, and the sentence that needs it',
      ['public <command> = stop | open <app>;', '<app> = Ελλάδα;'],
      ['public <command> = stop;'],
    ],
    [
      'a chain of rules',
      ['<c> = עברית;', '<b> = <c>;', 'public <command> = stop | <a> please;', '<a> = <b>;'],
      ['public <command> = stop;'],
    ],
    [
      'part of a rule that others use, too',
      ['public <command> = open <app> | stop;', '<app> = tea | Кириллица | big தமிழ்;'],
      ['public <command> = (open <app> | stop);', '<app> = tea;'],
    ],
    [
      'a sentence of a grammar with tags, weights and comments',
      ['public <command> = /0.5/ stop {halt} | /2/ 日本語 {x}; // a comment', '/* another */'],
      ['public <command> = stop;'],
    ],
    [
      'a rule that contains itself',
      ['public <command> = a [<command>] | 語 <command>;'],
      ['public <command> = a [<command>];'],
    ],
  ] as const)
    test(`loses ${what}`, () => {
      assert.deepEqual(part(...rules), left);
    });

  for (const [what, jsgf] of [
    ['no sentence is left', 'public <command> = 日本語;'],
    ['its group has no end', 'public <command> = (stop | 日本語;'],
    ['its rule has no end', 'public <command> = stop | 日本語'],
    ['a rule is not named', 'public command = 日本語;'],
    ['a sign repeats nothing', 'public <command> = * 日本語 | stop;'],
    ['its groups are too deep', `public <command> = stop | 日本語 ${'('.repeat(10_000)}a${')'.repeat(10_000)};`],
    ['it imports', 'import <other.*>; public <command> = stop | 日本語;'],
  ] as const)
    test(`is refused where ${what}`, () => {
      assert.throws(
        () => speakablePart(grammarOf('test', jsgf), isLatin),
        (error: unknown) => error instanceof CoreError && error.code === 'PARAMS_INVALID',
      );
    });

  test('has each sentence without a lost word, no lost word, and no rule that is missing', () => {
    const word = fc.constantFrom('a', 'b', 'c', '語', 'ع', 'ä');
    const sentence = fc.array(word, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(
        fc.array(sentence, { minLength: 1, maxLength: 8 }),
        fc.array(sentence, { minLength: 1 }),
        (said, of) => {
          const text = (all: readonly (readonly string[])[]) => all.map((one) => one.join(' ')).join(' | ');
          const whole = grammarOf('test', `public <command> = stop | ${text(said)} | go <x>;`, `<x> = ${text(of)};`);
          const made = speakablePart(whole, isLatin);
          checkRules(made);
          assert.ok(made.words.every(isLatin));
          assert.doesNotMatch(made.jsgf, /[語عä]/);
          for (const one of said)
            assert.equal(one.every(isLatin), made.jsgf.includes(one.join(' ')) && one.every(isLatin));
          assert.equal(
            made.jsgf.includes('go <x>'),
            of.some((one) => one.every(isLatin)),
          );
        },
      ),
      { numRuns: runs(100) },
    );
  });
});
