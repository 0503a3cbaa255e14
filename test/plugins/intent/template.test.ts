import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { buildSentence } from '../../../plugins/voice/intent/build.ts';
import { MAX_TEMPLATE, parseTemplate, TemplateError } from '../../../plugins/voice/intent/template.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { runs } from '../../fixtures/runs.ts';
import { sentencesOf } from './sentences.ts';

fc.configureGlobal({ numRuns: runs(100) });

const context = {
  language: 'en',
  slots: {
    room: {
      kind: 'list',
      values: [
        { in: 'kitchen', out: 'k' },
        { in: 'living room', out: 'l' },
      ],
    },
  },
  rules: { polite: '[please]', light: '(light|lamp)[s]', loop: 'a <loop>', område: 'inne|ute', bad: 'a (b' },
} as const;
const said = (template: string) => sentencesOf(buildSentence(template, context).node).sort();

suite('sentence templates', () => {
  const forms: [string, string[]][] = [
    ['Hello, World!', ['hello world']],
    ['[please] stop', ['please stop', 'stop']],
    ['turn (on|off)', ['turn off', 'turn on']],
    ['turn [on|off]', ['turn', 'turn off', 'turn on']],
    ['(now;here) go', ['here now go', 'now here go']],
    ['light[s]', ['light', 'lights']],
    ['[re]set', ['reset', 'set']],
    ['turn[ on] it', ['turn it', 'turn on it']],
    ['[my ]home', ['home', 'my home']],
    ['(un|re)do(|ne)', ['redo', 'redone', 'undo', 'undone']],
    [
      '<polite> <light> off',
      [
        'lamp off',
        'lamps off',
        'light off',
        'lights off',
        'please lamp off',
        'please lamps off',
        'please light off',
        'please lights off',
      ],
    ],
    ['in the {room}', ['in the kitchen', 'in the living room']],
    ['go {where:up|down=below}', ['go down', 'go up']],
    ['a \\[b\\] \\{c\\}', ['a b c']],
    ["what's twenty-one", ["what's twenty one"]],
    ['50%', ['fifty percent']],
    ['{room}%', ['kitchen percent', 'living room percent']],
    ['  spaces\t everywhere ', ['spaces everywhere']],
    ['((a))', ['a']],
    ['a [b [c]]', ['a', 'a b', 'a b c']],
    ['lights on|lights off', ['lights off', 'lights on']],
    ['go <område>', ['go inne', 'go ute']],
    ['go {väderstreck:norr|söder}', ['go norr', 'go söder']],
  ];
  for (const [template, sentences] of forms)
    test(`${template} is ${sentences.length} sentences`, () => assert.deepEqual(said(template), sentences));

  const faults: [string, number, RegExp][] = [
    ['turn (on', 9, /expected "\)" for the "\(" at 6, found the end/],
    ['turn [on', 9, /expected "\]" for the "\[" at 6, found the end/],
    ['turn (on]', 9, /expected "\)", found "\]"/],
    ['turn on)', 8, /expected a word, found "\)"/],
    ['a ; b', 3, /";" stands only within \( \)/],
    ['(a|b;c)', 5, /expected "\|", found ";": one group has one of them/],
    ['[a;b]', 3, /";" stands only within \( \)/],
    ['go {room', 9, /expected "\}" for the "\{" at 4, found the end/],
    ['go {room (x)}', 10, /expected "\}" for the "\{" at 4, found "\("/],
    ['go {}', 5, /expected the name of a slot, found ""/],
    ['go {a b}', 5, /expected the name of a slot, found "a b"/],
    ['go {n:1..}', 7, /expected a range like 1\.\.60/],
    ['go {n:!}', 7, /expected a range like 1\.\.60, a list like a\|b or the name of a slot, found "!"/],
    ['go {n:a||b}', 7, /a value of the list has no words/],
    ['go {n:9..1}', 4, /its range begins at 9 and ends at 1/],
    ['go {n:0..1/0.0001}', 4, /10001 steps, at most 512/],
    ['go {nowhere}', 4, /there is no slot nowhere/],
    ['go <nowhere>', 4, /there is no rule <nowhere>/],
    ['go <loop>', 4, /rule <loop> contains itself: loop > loop/],
    ['go <bad>', 4, /in rule <bad>: at 5: expected "\)"/],
    ['a\\', 3, /expected a character after/],
    ['', 1, /it can be said without any word/],
    ['[please]', 1, /it can be said without any word/],
    ['!', 1, /it can be said without any word/],
    ['{room} {room}', 1, /sets \{room\} twice/],
    [`${'('.repeat(20)}a${')'.repeat(20)}`, 17, /more than 16 deep/],
    ['a'.repeat(MAX_TEMPLATE + 1), MAX_TEMPLATE + 1, /at most 1000 are allowed/],
    ['(a;b;c;d;e;f)', 1, /6 parts in any order, at most 5/],
    [`x${'[a|b]'.repeat(10)}y`, 1, /more than 64 forms/],
    ['(((a;b;c;d;e);b;c;d;e);b;c;d;e)', 1, /more than 4096 parts/],
  ];
  for (const [template, at, reason] of faults)
    test(`"${template.slice(0, 40)}" is refused at ${at}`, () => {
      assert.throws(
        () => buildSentence(template, context),
        (thrown) => {
          assert.ok(thrown instanceof TemplateError, String(thrown));
          assert.match(thrown.message, reason);
          assert.equal(thrown.at, at);
          return true;
        },
      );
    });

  test('any text is parsed or refused with a place within it, in bounded time', () => {
    const pieces = fc.array(
      fc.constantFrom(...'[](){}<>|;:\\ .%'.split(''), 'a', 'word', '{room}', '<light>', '{n:1..9}', '1'),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          pieces.map((parts) => parts.join('')),
          fc.string({ unit: ANY_CHARACTER, maxLength: 80 }),
        ),
        (text) => {
          try {
            buildSentence(text, context);
          } catch (thrown) {
            assert.ok(thrown instanceof TemplateError, String(thrown));
            assert.ok(thrown.at >= 1 && thrown.at <= text.length + 1, `${thrown.message} in ${JSON.stringify(text)}`);
          }
        },
      ),
      { numRuns: runs(2_000) },
    );
  });

  test('a text in which every character is escaped means itself', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 40 }), (text) => {
        const escaped = [...text].map((char) => `\\${char}`).join('');
        assert.deepEqual(parseTemplate(escaped), { kind: 'text', text });
      }),
    );
  });
});
