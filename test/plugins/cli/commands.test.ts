/** Operations with odd schemas become commands; words become params and nothing else. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Failure } from '@device-core/plugin-api/program';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import fc from 'fast-check';
import { singular } from '../../../plugin-api/inside/command-words.ts';
import { Commands, operationCommands } from '../../../plugins/interface/cli/program/commands.ts';
import { usageOf } from '../../../plugins/interface/cli/program/help.ts';
import { shapeOf } from '../../../plugins/interface/cli/program/operation.ts';
import { dashed, parseWords } from '../../../plugins/interface/cli/program/parse.ts';
import { methodsOf } from '../../../plugins/interface/cli/program/table.ts';
import { smallTable, TEXT } from './small-table.ts';

const BYTES: JsonSchema = { ...TEXT, contentEncoding: 'base64' };
const ODD = smallTable({
  'apps.list': { rest: 'GET /apps' },
  'apps.stop': { rest: 'POST /apps/:id/stop', params: { id: TEXT }, required: ['id'] },
  'batteries.cellVoltages': { rest: 'GET /cells', params: { fromCell: { type: 'integer' } } },
  'odd.everything': {
    rest: 'POST /odd',
    params: {
      name: TEXT,
      count: { type: 'integer', minimum: -5, maximum: 500 },
      ratio: { type: 'number' },
      wide: { type: 'boolean' },
      mode: { enum: [0, 1, 'keep', null] },
      tags: { type: 'array', items: TEXT },
      sizes: { type: 'array', items: { type: 'integer' } },
      payload: BYTES,
      note: { ...BYTES, contentMediaType: 'text/plain' },
      options: { type: 'object' },
      anything: {},
      maybe: { type: ['string', 'null'] },
      either: { anyOf: [{ type: 'integer' }, TEXT] },
      json: { type: 'boolean', description: 'has the name of an option of devicectl' },
      x_y: TEXT,
    },
    required: ['name', 'payload', 'wide', 'count'],
    result: { image: BYTES },
  },
  'odd.nothing': { rest: 'GET /nothing' },
  'odd.hidden': { rest: 'GET /hidden', cli: { hide: true } },
  'odd.twice': {
    rest: 'PUT /twice',
    params: { on: { type: 'boolean' } },
    required: ['on'],
    cli: [
      { command: 'on', aliases: ['odd on'], given: { on: true }, hide: ['on'] },
      { command: 'off', given: { on: false }, hide: ['on'] },
    ],
  },
  'odd.placed': {
    rest: 'POST /placed',
    params: { first: TEXT, second: { type: 'integer' }, rest: { type: 'array', items: TEXT } },
    required: ['second'],
    cli: { command: 'placed', fixed: ['second', 'rest'], flags: { first: ['f', 'begin'] }, given: { first: 'x' } },
  },
});
const commands = new Commands(operationCommands(methodsOf(ODD)));

function found(line: string) {
  const { command, used } = commands.find(line.split(' ')) ?? {};
  assert.ok(command?.kind === 'operation' && used !== undefined, line);
  return { command, shape: shapeOf(command), used };
}

async function parsed(name: string, words: readonly string[]) {
  const { command, shape } = found(name);
  const own = Object.fromEntries(Object.entries(shape.own).map(([flag, { kind }]) => [flag, kind]));
  return parseWords(words, shape.parameters, { own, given: command.view.given ?? {} });
}

describe('commands of operations', () => {
  const cases: readonly (readonly [line: string, usage: string | undefined])[] = [
    ['app stop', 'app stop <id>'],
    ['apps stop', 'app stop <id>'],
    ['apps', 'app list'],
    ['battery cell-voltages', 'battery cell-voltages [options]'],
    ['odd everything', 'odd everything <name> <count> --wide --payload <payload> [options]'],
    ['odd nothing', 'odd nothing'],
    ['odd hidden', undefined],
    ['on', 'on'],
    ['odd on', 'on'],
    ['off', 'off'],
    ['placed', 'placed <second> [rest...] [options]'],
    ['odd', undefined],
    ['app halt', undefined],
  ];
  for (const [line, usage] of cases)
    test(`"${line}" is ${usage ?? 'no command'}`, () => {
      const command = commands.find(line.split(' '))?.command;
      assert.equal(command && usageOf(command), usage);
    });

  for (const [plural, noun] of [
    ['apps', 'app'],
    ['capabilities', 'capability'],
    ['switches', 'switch'],
    ['gpio', 'gpio'],
    ['status', 'status'],
    ['bus', 'bus'],
    ['axis', 'axis'],
    ['can', 'can'],
    ['keys', 'key'],
  ] as const)
    test(`${plural} is ${noun}`, () => assert.equal(singular(plural), noun));

  test('an operation that no client can call over REST is no command', () => {
    assert.deepEqual(methodsOf({ methods: [{ name: 'log.write', params: [] }] }), []);
  });
});

describe('words become params', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dc-words-'));
    await writeFile(join(folder, 'a.json'), '{"a":[1]}');
    await writeFile(join(folder, 'list.json'), '[1,2]');
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const basic = ['n', '3', '--wide', '--payload', '00'];
  const BASIC = { name: 'n', count: 3, wide: true, payload: 'AA==' };
  const cases: readonly (readonly [words: readonly string[], params: object])[] = [
    [basic, BASIC],
    [['--name', 'n', '3', '--no-wide', '--payload', '0x00'], { ...BASIC, wide: false }],
    [['--count=0x1f', 'n', '--wide=false', '--payload=base64:AA=='], { ...BASIC, count: 31, wide: false }],
    [['n', '-4', '--wide', '--payload', '00'], { ...BASIC, count: -4 }],
    [['--wide', '--payload', '00', '--', '--name', '3'], { ...BASIC, name: '--name' }],
    [[...basic, '--mode', '1'], { ...BASIC, mode: 1 }],
    [[...basic, '--mode', 'keep'], { ...BASIC, mode: 'keep' }],
    [[...basic, '--mode', 'null'], { ...BASIC, mode: null }],
    [[...basic, '--tags', 'a', '--tags', 'b,c'], { ...BASIC, tags: ['a', 'b,c'] }],
    [[...basic, '--sizes', '1', '--sizes', '2'], { ...BASIC, sizes: [1, 2] }],
    [[...basic, '--sizes', '[1,2]'], { ...BASIC, sizes: [1, 2] }],
    [[...basic, '--note', 'cafe'], { ...BASIC, note: 'Y2FmZQ==' }],
    [[...basic, '--note', 'hex:cafe'], { ...BASIC, note: 'yv4=' }],
    [[...basic, '--options', '{"a":1}'], { ...BASIC, options: { a: 1 } }],
    [[...basic, '--options', 'a=1', '--options', 'b=x=y'], { ...BASIC, options: { a: 1, b: 'x=y' } }],
    [[...basic, '--anything', '[true]'], { ...BASIC, anything: [true] }],
    [[...basic, '--anything', 'plain'], { ...BASIC, anything: 'plain' }],
    [[...basic, '--either', '5'], { ...BASIC, either: 5 }],
    [[...basic, '--maybe', 'x'], { ...BASIC, maybe: 'x' }],
    [[...basic, '--arg-json'], { ...BASIC, json: true }],
    [[...basic, '--x-y', 'z'], { ...BASIC, x_y: 'z' }],
  ];
  for (const [words, params] of cases)
    test(words.join(' '), async () => assert.deepEqual((await parsed('odd everything', words)).params, params));

  test('a file is read', async () => {
    const words = [...basic, '--options', `@${folder}/a.json`, '--sizes', `@${folder}/list.json`];
    assert.deepEqual((await parsed('odd everything', words)).params, { ...BASIC, options: { a: [1] }, sizes: [1, 2] });
  });

  test('places, renamed flags and values for missing words', async () => {
    assert.deepEqual((await parsed('placed', ['4', 'a', 'b'])).params, { first: 'x', second: 4, rest: ['a', 'b'] });
    assert.deepEqual((await parsed('placed', ['-f', 'y', '4'])).params, { first: 'y', second: 4 });
    assert.deepEqual((await parsed('off', [])).params, { on: false });
  });

  const wrong: readonly (readonly [words: readonly string[], told: RegExp, hint?: RegExp])[] = [
    [['n'], /^<count> is missing: a whole number from -5 to 500$/],
    [[], /^<name> is missing: text$/],
    [['n', '3', '--payload', '00'], /^--wide is missing: true or false$/],
    [[...basic, '--tgas', 'a'], /^there is no option --tgas$/, /^did you mean --tags\?$/],
    [[...basic, '--zzzzzzzz'], /^there is no option --zzzzzzzz$/, /^it takes --name, --count/],
    [[...basic, '-correct-horse=battery'], /^there is no such option$/, /^it takes --name, --count/],
    [['n', 'three'], /^<count> must be a whole number from -5 to 500, not "three"$/],
    [['n', '2.5'], /^<count> must be a whole number/],
    [['n', '501'], /^<count> must be a whole number from -5 to 500, not "501"$/],
    [[...basic, '--ratio', ''], /^--ratio must be a number, not ""$/],
    [[...basic, '--mode', '2'], /^--mode must be one of 0, 1, keep, null, not "2"$/],
    [['n', '3', '--wide=yes'], /^--wide must be true or false, not "yes"$/],
    [['n', '3', '--wide', '--payload', '0'], /^--payload must be pairs of hex digits, @file, - or base64/],
    [['n', '3', '--wide', '--payload', '@/none'], /^cannot read \/none: ENOENT$/],
    [[...basic, '--options', '{a}'], /^--options is not JSON: /],
    [[...basic, '--options', 'a'], /^--options must be JSON, key=value, @file or -, not "a"$/],
    [[...basic, '--options', 'a=1', '--options', 'a=2'], /^--options has a twice$/],
    [[...basic, '--sizes', '1', '--sizes', 'x'], /^--sizes must be a whole number, not "x"$/],
    [[...basic, '--ratio', '1', '--ratio', '2'], /^--ratio is given twice$/],
    [[...basic, 'more'], /^there is no place for a word/],
    [[...basic, '--ratio'], /^--ratio needs a value$/],
  ];
  for (const [words, told, hint] of wrong)
    test(`"${words.join(' ')}" is refused, and the fault is named`, async () => {
      const failure = await parsed('odd everything', words).catch((error: unknown) => error);
      assert.ok(failure instanceof Failure);
      assert.match(failure.message, told);
      assert.equal(failure.exit, 2);
      if (hint) assert.match(failure.hint ?? '', hint);
    });

  test('params of any value can be said in words', async () => {
    const { shape } = found('odd everything');
    const text = fc.string({ maxLength: 12 }).filter((one) => !one.includes('\0'));
    const word = text.filter((one) => !/^(@|-|\[)/.test(one));
    const base64 = fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
    const json = fc.jsonValue({ maxDepth: 2 });
    const params = fc.record(
      {
        name: text,
        count: fc.integer({ min: -5, max: 500 }),
        wide: fc.boolean(),
        payload: base64,
        ratio: fc.double({ noNaN: true, noDefaultInfinity: true }),
        mode: fc.constantFrom(0, 1, 'keep', null),
        tags: fc.array(word, { minLength: 1, maxLength: 3 }),
        sizes: fc.array(fc.integer(), { minLength: 1 }),

        note: base64,
        options: fc.dictionary(
          text.filter((key) => key !== '__proto__'),
          json,
        ),
        anything: json,
        json: fc.boolean(),
      },
      { requiredKeys: ['name', 'count', 'wide', 'payload'] },
    );
    await fc.assert(
      fc.asyncProperty(params, async (given) => {
        const words = shape.parameters.flatMap(({ name, flags, kind }): readonly string[] => {
          if (!(name in given)) return [];
          const value = (given as Record<string, unknown>)[name];
          const flag = dashed(flags[0]!);
          if (kind === 'boolean') return [value ? flag : flag.replace('--', '--no-')];
          if (kind === 'array') return (value as readonly unknown[]).flatMap((item) => [flag, String(item)]);
          if (kind === 'object' || kind === 'json') return [flag, JSON.stringify(value)];
          return [flag, kind === 'bytes' || kind === 'text' ? `base64:${value}` : String(value)];
        });
        // JSON knows no negative zero.
        const plain = JSON.parse(JSON.stringify(given));
        assert.deepEqual(JSON.parse(JSON.stringify((await parsed('odd everything', words)).params)), plain);
      }),
      { numRuns: 200 },
    );
  });
});
