import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import type { IntentDefinition, SlotType } from '@device-core/plugin-api/services/intents';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { buildSentence } from '../../../plugins/voice/intent/build.ts';
import { makeGrammar } from '../../../plugins/voice/intent/grammar.ts';
import { ENGLISH_NUMBERS } from '../../../plugins/voice/intent/numbers-en.ts';
import { runs } from '../../fixtures/runs.ts';
import { sample, template } from './sentences.ts';
import { type Started, start } from './start.ts';

after(leakCheck());

const answer = async () => ({});
const define = (
  id: string,
  sentences: readonly string[],
  slots: Readonly<Record<string, SlotType>> = {},
): IntentDefinition => ({
  id,
  title: id,
  language: 'en',
  sentences,
  slots,
});
const add = (started: Started, definition: IntentDefinition) => started.intents.add(definition, answer, 'plugin.test');
const open = { kind: 'open' } as const;

suite('matching', () => {
  test('a sentence is matched as a whole, without regard to case, punctuation and spaces', async () => {
    await using started = await start();
    await using _ = add(started, define('test.lights', ['turn (on|off) the light[s]']));
    for (const text of ['turn on the light', 'Turn OFF the lights!', '  turn,on   the-lights. '])
      assert.equal((await started.plan(text)).intent, 'test.lights');
    for (const text of ['turn on', 'turn on the light below', 'never turn on the light', '', '...'])
      assert.equal((await started.match(text)).outcome, 'none', text);
    assert.deepEqual(await started.match('turn on'), {
      outcome: 'none',
      reason: 'it is only the beginning of a sentence',
    });
    assert.equal((await started.match('turn on the light', 'de')).outcome, 'none');
    assert.equal((await started.match('turn on the light', 'en-GB')).outcome, 'plan');
  });

  test('numbers come in words and in digits, within their range only', async () => {
    await using started = await start();
    const slots = {
      n: { kind: 'int', from: -20, to: 1_000_000 },
      five: { kind: 'int', from: 0, to: 100, step: 5 },
      level: { kind: 'number', from: 0, to: 2, step: 0.25 },
      degrees: { kind: 'number', from: -300, to: 300 },
    } as const;
    await using _ = add(
      started,
      define('test.n', ['n {n}', 'five {five}', 'level {level}', 'degrees {degrees}'], slots),
    );
    const cases: [string, object | undefined][] = [
      ['n twenty one', { n: 21 }],
      ['n twenty-one', { n: 21 }],
      ['n 21', { n: 21 }],
      ['n 1,000', { n: 1_000 }],
      ['n minus five', { n: -5 }],
      ['n -5', { n: -5 }],
      ['n zero', { n: 0 }],
      ['n a hundred and five', { n: 105 }],
      ['n nine hundred ninety nine thousand nine hundred and ninety nine', { n: 999_999 }],
      ['n a million', { n: 1_000_000 }],
      ['n a million and one', undefined],
      ['n 1000001', undefined],
      ['n minus twenty one', undefined],
      ['n 1.5', undefined],
      ['n twenty ten', undefined],
      ['n one two', undefined],
      ['n and five', undefined],
      ['five thirty five', { five: 35 }],
      ['five 35', { five: 35 }],
      ['five thirty six', undefined],
      ['five 36', undefined],
      ['level one point seven five', { level: 1.75 }],
      ['level 1.75', { level: 1.75 }],
      ['level two', { level: 2 }],
      ['level one point seven', undefined],
      ['degrees twenty one point five', { degrees: 21.5 }],
      ['degrees minus two hundred point one', { degrees: -200.1 }],
      ['degrees 21.57', { degrees: 21.57 }],
      ['degrees three hundred', { degrees: 300 }],
      ['degrees three hundred point one', undefined],
    ];
    for (const [text, slots] of cases) {
      const found = await started.match(text);
      if (slots) assert.deepEqual(found.outcome === 'plan' && found.plan.slots, slots, text);
      else assert.equal(found.outcome, 'none', text);
    }
  });

  test('every number up to 2,000 is understood as it is spelled, and as digits', async () => {
    await using started = await start();
    await using _ = add(started, define('test.n', ['n {n:0..2000}']));
    const { node } = buildSentence('n {n:0..2000}', { language: 'en', slots: {}, rules: {} });
    const { jsgf } = makeGrammar('en', [node])!;
    const spoken = new Set<number>();
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat(1_000)), async (numbers) => {
        const { slots } = await started.plan(sample(jsgf, (of) => numbers.next().value % of));
        const n = Number(slots.n);
        assert.ok(Number.isInteger(n) && n >= 0 && n <= 2_000);
        spoken.add(n);
        assert.deepEqual((await started.plan(`n ${ENGLISH_NUMBERS.spell(n)}`)).slots, { n });
      }),
      { numRuns: runs(1_000) },
    );
    assert.ok(spoken.size > runs(1_000) / 20, `only ${spoken.size} numbers came`);
    for (let n = 0; n <= 2_000; n++) {
      assert.deepEqual((await started.plan(`n ${n}`)).slots, { n });
      assert.deepEqual((await started.plan(`n ${ENGLISH_NUMBERS.spell(n)}`)).slots, { n });
    }
  });

  test('lists give what stands for their words', async () => {
    await using started = await start();
    const room: SlotType = {
      kind: 'list',
      values: [
        { in: 'Living Room', out: 'lr' },
        { in: 'room 2', out: 2 },
        { in: 'attic', out: true },
      ],
    };
    await using _ = add(started, define('test.room', ['light in the {room}', 'go to {room:where}'], { room }));
    assert.deepEqual((await started.plan('light in the living room')).slots, { room: 'lr' });
    assert.deepEqual((await started.plan('go to room two')).slots, { where: 2 });
    assert.deepEqual((await started.plan('go to room 2')).slots, { where: 2 });
    assert.deepEqual((await started.plan('go to attic')).slots, { where: true });
    assert.equal((await started.match('go to the cellar')).outcome, 'none');
  });

  test('an open slot takes any words, but known words go before it', async () => {
    await using started = await start();
    const definition = define('test.remind', ['remind me to {what} [in {minutes:1..60} minutes]', 'find {what}'], {
      what: open,
    });
    await using _ = add(started, definition);
    await using _exact = add(started, define('test.find', ['find my phone']));
    assert.deepEqual((await started.plan('Remind me to call Ada Lovelace!')).slots, { what: 'call ada lovelace' });
    assert.deepEqual((await started.plan('remind me to call in five minutes')).slots, { what: 'call', minutes: 5 });
    assert.equal((await started.plan('find my phone')).intent, 'test.find');
    assert.equal((await started.plan('find my phones')).intent, 'test.remind');
    assert.equal((await started.match('find')).outcome, 'none');
  });

  test('a sentence of two meanings is ambiguous, and names both', async () => {
    await using started = await start();
    await using _one = add(
      started,
      define('test.one', ['do (it|that)', 'same [same] {a:x|y} ', 'pair {a:1..99} {b:1..99}']),
    );
    await using _two = add(started, define('test.two', ['do it']));
    const found = await started.match('do it');
    assert.deepEqual(found.outcome === 'ambiguous' && found.candidates.map(({ intent }) => intent).sort(), [
      'test.one',
      'test.two',
    ]);
    assert.equal((await started.plan('do that')).intent, 'test.one');
    const pair = await started.match('pair twenty one two');
    assert.deepEqual(pair.outcome === 'plan' && pair.plan.slots, { a: 21, b: 2 });
    const both = await started.match('pair twenty one thirty two');
    assert.equal(both.outcome, 'plan');
    await using _three = add(started, define('test.three', ['x {a:twenty=1|twenty one=2} {b:one two=3|two=4}']));
    const { outcome, ...rest } = await started.match('x twenty one two');
    const values = 'candidates' in rest ? rest.candidates.map(({ slots }) => slots) : [];
    assert.deepEqual(
      [outcome, values],
      [
        'ambiguous',
        [
          { a: '1', b: '3' },
          { a: '2', b: '4' },
        ],
      ],
    );
  });

  test('the same meaning in many ways is not ambiguous, and costs no time', async () => {
    await using started = await start();
    await using _ = add(
      started,
      define('test.many', [`go ${'[a|a] '.repeat(40)} {where:up|down}`, 'go a up', 'go {where:up|down}']),
    );
    assert.equal((await started.plan('go up')).intent, 'test.many');
    const begun = performance.now();
    assert.equal((await started.match(`go ${'a '.repeat(40)} up`)).outcome, 'plan');
    assert.equal((await started.match(`go ${'a '.repeat(41)} up`)).outcome, 'none');
    assert.ok(performance.now() - begun < 500);
    const many = Array.from({ length: 20 }, (_, index) => `{s${index}}`);
    await using _open = add(
      started,
      define('test.open', [`so ${many.join(' ')}`], Object.fromEntries(many.map((_, index) => [`s${index}`, open]))),
    );
    const text = `so ${'word '.repeat(60)}`;
    assert.equal((await started.match(text)).outcome, 'ambiguous');
    assert.ok(performance.now() - begun < 2_000);
  });

  test('a plan says whether longer sentences of another meaning begin with it, and whether they add numbers alone', async () => {
    await using started = await start();
    const length = '{minutes:1..99} minutes [[and] {seconds:1..59} seconds]';
    await using _ = add(
      started,
      define(
        'test.on',
        [
          'switch on [the light]',
          'count to {n:1..99}',
          'say {what}',
          'switch off',
          `wake in ${length}`,
          `doze ${length} [near {what}]`,
        ],
        { what: open },
      ),
    );
    const goesOn = async (text: string) => {
      const { mayGoOn, byNumber } = await started.plan(text);
      return byNumber ? 'number' : mayGoOn;
    };
    for (const [text, expected] of [
      ['switch on', false],
      ['switch on the light', false],
      ['switch off', false],
      ['count to twenty', 'number'],
      ['count to twenty one', false],
      ['count to 20', false],
      ['say hello', true],
      ['wake in ten minutes', 'number'],
      ['wake in ten minutes and five seconds', false],
      ['doze ten minutes', true],
    ] as const)
      assert.equal(await goesOn(text), expected, text);
    await using _longer = add(started, define('test.longer', ['switch off everything', 'wake in ten minutes softly']));
    assert.equal(await goesOn('switch off'), true);
    assert.equal(await goesOn('wake in ten minutes'), true);
  });

  test('a text that is too long means nothing', async () => {
    await using started = await start();
    assert.match(JSON.stringify(await started.match('a '.repeat(400))), /more than 500 characters/);
    assert.match(JSON.stringify(await started.match('a '.repeat(100))), /more than 64 words/);
  });

  const faults: [string, Partial<IntentDefinition>, RegExp][] = [
    ['an id without a dot', { id: 'light' }, /its id must match/],
    ['no sentence', { sentences: [] }, /must be 1 to 64/],
    ['a language that is none', { language: 'english please' }, /must be a BCP 47 tag/],
    ['a template that is none', { sentences: ['go', 'go (on'] }, /sentence 2 "go \(on" at 7: expected "\)"/],
    ['an open slot first', { sentences: ['[please] {x} now'], slots: { x: open } }, /an open slot comes first/],
    ['a slot that is not there', { sentences: ['go {x}'] }, /there is no slot x/],
    ['a rule name that is none', { rules: { 'a b': 'x' } }, /"a b", which is not a name/],
    ['a list without values', { sentences: ['go {x}'], slots: { x: { kind: 'list', values: [] } } }, /it has 0 values/],
    [
      'an int of halves',
      { sentences: ['go {x}'], slots: { x: { kind: 'int', from: 0, to: 1, step: 0.5 } } },
      /whole numbers/,
    ],
    ['words with two values', { sentences: ['go {x:a=1|a=2}'] }, /"a" has two values/],
  ];
  for (const [what, change, reason] of faults)
    test(`${what} is refused`, async () => {
      await using started = await start({ isolation: 'inline' });
      assert.throws(
        () => add(started, { ...define('test.good', ['good']), ...change }),
        (thrown: { code?: string; message?: string }) => {
          assert.equal(thrown.code, 'PARAMS_INVALID');
          assert.match(thrown.message ?? '', reason);
          return true;
        },
      );
    });

  test('an id is had once, and definitions are bounded', async () => {
    await using started = await start({ isolation: 'inline', config: { maxIntents: 16 } });
    await using _ = add(started, define('test.one', ['one']));
    assert.throws(() => add(started, define('test.one', ['two'])), /plugin\.test has an intent of this id/);
    assert.throws(() => {
      for (let index = 0; index < 20; index++) add(started, define(`test.more${index}`, ['more']));
    }, /there are 16 already/);
  });
});

suite('grammar', () => {
  test('the grammar says the same sentences as the matcher: words only, no digits, no open slots', async () => {
    await using started = await start();
    const before = (await started.intents.grammar('en'))!;
    const sentences = [
      'set [the] level to {level:1..3}',
      'play {what} loud',
      'call [{what}] now',
      'channel 7',
      'x {room}',
    ];
    const room: SlotType = {
      kind: 'list',
      values: [
        { in: 'Living Room', out: 1 },
        { in: 'hall', out: 2 },
      ],
    };
    await using _ = add(started, define('test.grammar', sentences, { what: open, room }));
    const grammar = (await started.intents.grammar('en'))!;
    assert.notEqual(grammar.id, before.id);
    assert.match(grammar.jsgf, /^#JSGF V1\.0 UTF-8;\ngrammar commands;\npublic <command> = /);
    for (const line of ['set [the] level to (one | two | three)', 'call now', 'channel seven'])
      assert.ok(
        !line.includes('(') ? grammar.jsgf.includes(line) : /set \[the\] level to <slot_\w+>/.test(grammar.jsgf),
        line,
      );
    assert.match(grammar.jsgf, /= \(living room \| hall\);/);
    assert.doesNotMatch(grammar.jsgf, /\bplay\b|\bloud\b|\b7\b/);
    assert.deepEqual(
      ['living', 'seven', 'loud', '7'].map((word) => grammar.words.includes(word)),
      [true, true, false, false],
    );
    assert.deepEqual(grammar.words, [...new Set(grammar.words)].sort());
    assert.equal(await started.intents.grammar('it'), undefined);
  });

  test('its id is that of its contents, in any order of arrival', async () => {
    await using started = await start();
    const [one, two] = [
      define('test.one', ['one {n:1..50}']),
      define('test.two', ['two {n:1..50}', 'three {l:a b|c d}']),
    ];
    const ids: string[] = [];
    for (const order of [
      [one, two],
      [two, one],
    ]) {
      await using _first = add(started, order[0]!);
      await using _second = add(started, order[1]!);
      ids.push((await started.intents.grammar('en'))!.id);
    }
    assert.equal(ids[0], ids[1]);
    assert.notEqual((await started.intents.grammar('en'))!.id, ids[0]);
  });

  test('a large range is a compact rule', async () => {
    await using started = await start();
    const size = async () => (await started.intents.grammar('en'))!.jsgf.length;
    const before = await size();
    await using _ = add(started, define('test.large', ['count {n:0..999999}']));
    assert.ok((await size()) - before < 4_000);
  });

  test('sentences of a grammar lead the matcher to the intent that they came from', async () => {
    await using started = await start({ isolation: 'inline' });
    const known = new Set((await started.intents.list()).map(({ id }) => id));
    await fc.assert(
      fc.asyncProperty(
        fc.array(template, { minLength: 1, maxLength: 3 }),
        fc.infiniteStream(fc.nat(1_000)),
        async (templates, numbers) => {
          await using stack = new AsyncDisposableStack();
          const added: string[] = [];
          for (const [index, sentence] of templates.entries()) {
            try {
              stack.use(add(started, define(`test.t${index}`, [`q${'abc'[index]} ${sentence}`], { title: open })));
              added.push(`test.t${index}`);
            } catch (thrown) {
              assert.equal((thrown as { code?: string }).code, 'PARAMS_INVALID', String(thrown));
            }
          }
          const grammar = await started.intents.grammar('en');
          for (let count = 0; count < 5; count++) {
            const text = sample(grammar!.jsgf, (of) => numbers.next().value % of);
            for (const word of text.split(' ')) assert.ok(grammar!.words.includes(word), word);
            const found = await started.match(text);
            const intents =
              found.outcome === 'plan'
                ? [found.plan.intent]
                : found.outcome === 'ambiguous'
                  ? found.candidates.map(({ intent }) => intent)
                  : [];
            const expected = /^q([abc])\b/.exec(text)?.[1];
            if (expected === undefined) assert.ok(intents.every((id) => known.has(id)) && intents.length > 0, text);
            else assert.deepEqual([...new Set(intents)], [`test.t${'abc'.indexOf(expected)}`], text);
          }
          return added.length >= 0;
        },
      ),
      { numRuns: runs(300) },
    );
  });
});
