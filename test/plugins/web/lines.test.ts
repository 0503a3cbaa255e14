/** Lines to copy: the shell hands every word on as it was, and devicectl reads the call that was meant. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Commands, operationCommands, programCommands } from '../../../plugins/interface/cli/program/commands.ts';
import { takeGlobals } from '../../../plugins/interface/cli/program/globals.ts';
import { shapeOf } from '../../../plugins/interface/cli/program/operation.ts';
import { parseWords } from '../../../plugins/interface/cli/program/parse.ts';
import { treePrograms } from '../../../plugins/interface/cli/program/programs.ts';
import { methodsOf } from '../../../plugins/interface/cli/program/table.ts';
import { parseType, TYPE_NAMES } from '../../../plugins/interface/functions/types.ts';
import {
  isDangerous,
  type OpenRpc,
  type Operation,
  operationsOf,
  type RegisteredFunction,
} from '../../../plugins/interface/web/ui/pages/functions/catalog.ts';
import { addressOf, linesOf, linesOfCall, RUN } from '../../../plugins/interface/web/ui/pages/functions/lines.ts';
import { canBeWord, quoted, safeJson } from '../../../plugins/interface/web/ui/pages/functions/shell.ts';
import { schemaOfType, schemaOfTypes } from '../../../plugins/interface/web/ui/pages/functions/types.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { runs } from '../../fixtures/runs.ts';
import { realTable } from '../cli/real-table.ts';

after(leakCheck());

const NASTY = [
  ...[
    "'",
    "''",
    '"',
    '$(id)',
    '`id`',
    '\\',
    '\n',
    '; rm -rf ~',
    '~',
    '*',
    '!!',
    '#',
    '&',
    '|',
    '>x',
    '-',
    '--',
    '--json',
  ],
  ...[
    '-rf',
    '--run=/x',
    '@file',
    'base64:AA==',
    'a=b',
    '',
    ' ',
    '\u202eevil',
    'é',
    '👨‍👩‍👧',
    '{"a":1}',
    '[1]',
    'hex:00',
    '%2f',
    '-5',
    'null',
  ],
];
const nasty = fc.oneof(fc.constantFrom(...NASTY), fc.string({ maxLength: 16, unit: ANY_CHARACTER }));
const word = nasty.filter(canBeWord);

/** What `sh` gives a program for each of these lines, whose first word is `devicectl`. */
function split(lines: readonly string[]): readonly (readonly string[])[] {
  const script = `devicectl() { printf '%s\\0' "$@"; printf '\\001\\0'; }\n${lines.join('\n')}\n`;
  const said = execFileSync('sh', ['-s'], { input: script, encoding: 'utf8', maxBuffer: 1 << 26 });
  return said
    .split('\u0001\0')
    .slice(0, -1)
    .map((one) => one.split('\0').slice(0, -1));
}

describe('a word for the shell', () => {
  test('comes out of sh as it went in', () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
        const [back] = split([['devicectl', ...words].map(quoted).join(' ')]);
        assert.deepEqual(back, words);
      }),
      { numRuns: runs(300) },
    );
  });
  test('of JSON is the same value, and holds nothing that steers a terminal', () => {
    fc.assert(
      fc.property(fc.jsonValue(), nasty, (value, text) => {
        const json = safeJson({ value, text });
        assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify({ value, text })));
        assert.doesNotMatch(json, /[\p{Cc}\p{Cf}]/u);
      }),
      { numRuns: runs(300) },
    );
  });
  for (const [what, text] of [
    ['a zero', 'a\0b'],
    ['an escape', '\u001b[201~ls'],
    ['half a pair', '\ud800'],
  ] as const)
    test(`is not made of ${what}`, () => assert.equal(canBeWord(text), false));
});

describe('types of functions', () => {
  test('every type has a schema, and those with ? need no value', () => {
    for (const name of TYPE_NAMES) {
      assert.deepEqual(parseType(name), { name, optional: false });
      assert.equal(schemaOfType(name).optional, false);
      assert.equal(schemaOfType(`${name}?`).optional, true);
      assert.deepEqual(schemaOfType(`${name}?`).schema, schemaOfType(name).schema);
    }
    assert.deepEqual(schemaOfTypes({ title: 'string', count: 'int?', deep: 'any' }), {
      type: 'object',
      additionalProperties: false,
      required: ['title', 'deep'],
      properties: { title: { type: 'string' }, count: { type: 'integer' }, deep: {} },
    });
  });
  test('a value without a type is a field for JSON', () => {
    assert.deepEqual(schemaOfTypes({ odd: 'constructor', name: 'toString?' }).properties, { odd: {}, name: {} });
  });
});

describe('lines of operations', () => {
  let commands: Commands;
  let operations: readonly Operation[];
  let programs: ReadonlySet<string>;
  before(async () => {
    const table = (await realTable()) as OpenRpc & { methods: readonly { name: string; 'x-rest'?: Route }[] };
    const places = await treePrograms();
    programs = new Set(places.flatMap(({ command, aliases = [] }) => [command, ...aliases]));
    commands = new Commands([...programCommands(places), ...operationCommands(methodsOf(table))]);
    operations = operationsOf({ paths: pathsOf(table.methods) }, table);
  });

  test('devicectl reads from a line the call that was meant, for every operation of the table', async () => {
    const [lines, meant]: [string[], { name: string; values: object }[]] = [[], []];
    const without = new Set<string>();
    for (const operation of operations) {
      if (operation.rest === undefined) continue;
      for (const values of fc.sample(valuesOf(operation), runs(60))) {
        const { devicectl } = linesOf(operation, values, { run: RUN, programs });
        if (devicectl === undefined) without.add(operation.name);
        else {
          lines.push(devicectl);
          meant.push({ name: operation.name, values });
        }
      }
    }
    assert.ok(lines.length > 200, `${lines.length} lines`);
    const all = split(lines);
    assert.equal(all.length, lines.length);
    for (const [at, words] of all.entries()) {
      const { name, values } = meant[at]!;
      const { globals, rest } = takeGlobals(words);
      assert.deepEqual(globals, {}, lines[at]);
      const end = rest.findIndex((one) => one.startsWith('-'));
      const found = commands.find(end < 0 ? rest : rest.slice(0, end));
      assert.ok(found, lines[at]);
      if (found.command.kind === 'program') {
        assert.deepEqual([Object.keys(values), rest.length], [[], found.used], `a program of its own: ${lines[at]}`);
        continue;
      }
      assert.equal(found.command.method.name, name, lines[at]);
      const { method, view } = found.command;
      // What may come from standard input and is not wanted would be waited for.
      const piped = view.stdin !== undefined && Object.hasOwn(values, view.stdin) ? view.stdin : undefined;
      const options = { given: view.given ?? {}, stdin: piped };
      const { params } = await parseWords(rest.slice(found.used), shapeOf(found.command).parameters, options);
      assert.equal(method.name, name);
      assert.deepEqual(JSON.parse(JSON.stringify(params)), JSON.parse(JSON.stringify(values)), lines[at]);
    }
    // Words of a person cannot say a param that the command hides, or that it sets by itself.
    for (const name of [
      'plugins.list',
      'config.set',
      'events.publish',
      'apps.switch',
      'voice.mute',
      'functions.describe',
    ])
      assert.ok(
        meant.some((one) => one.name === name),
        `${name} has a line; not all calls have one of ${[...without].join(', ')}`,
      );
  });

  test('curl asks what the page asks, and JSON-RPC says it', () => {
    const calls = operations.flatMap((operation) =>
      fc.sample(valuesOf(operation), runs(20)).map((values) => ({ operation, values })),
    );
    const asked = calls.filter(({ operation }) => operation.rest !== undefined);
    const curls = asked.map(({ operation, values }) => linesOf(operation, values, { run: RUN, programs }).curl!);
    const all = split(curls.map((line) => line.replace(/^curl/, 'devicectl')));
    for (const [at, { operation, values }] of asked.entries()) {
      const words = all[at]!;
      const url = words.find((one) => one.startsWith('http://localhost'));
      assert.equal(url, `http://localhost${addressOf(operation, values)}`);
      assert.ok(!words.includes('Authorization'));
      if (!words.includes('-d')) continue;
      const body = words[words.indexOf('-d') + 1];
      const inPath = [...operation.rest!.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name!);
      const rest = Object.fromEntries(Object.entries(values).filter(([name]) => !inPath.includes(name)));
      assert.deepEqual(JSON.parse(body!), JSON.parse(JSON.stringify(rest)));
    }
    for (const { operation, values } of calls) {
      const { rpc } = linesOf(operation, values, { run: RUN, programs });
      if (rpc !== undefined) assert.deepEqual(JSON.parse(rpc).params, JSON.parse(JSON.stringify(values)));
    }
  });

  test('a removal asks first, and a view does not', () => {
    const asks = operations.filter(isDangerous).map(({ name }) => name);
    for (const name of [
      'plugins.restart',
      'apps.remove',
      'bridge.resetEndpoint',
      'sessions.revoke',
      'bridge.reboot',
      'plugins.disable',
    ])
      assert.ok(asks.includes(name), name);
    for (const name of ['plugins.list', 'events.publish', 'functions.call', 'config.get', 'changes.list'])
      assert.ok(!asks.includes(name), name);
  });
});

describe('lines of functions', () => {
  const add: RegisteredFunction = {
    name: 'agenda.add',
    app: 'com.example.agenda',
    version: '1.0.0',
    id: 'x',
    available: true,
    inputs: { title: 'string', inSeconds: 'number?', deep: 'any?', raw: 'bytes?', yes: 'bool?' },
  };
  test('the words of devicectl call are the inputs that were meant', () => {
    const inputs = fc.record(
      {
        title: nasty,
        inSeconds: fc.double({ noNaN: true, noDefaultInfinity: true }),
        deep: fc.jsonValue(),

        raw: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64')),
        yes: fc.boolean(),
      },
      { requiredKeys: ['title'] },
    );
    fc.assert(
      fc.property(inputs, (values) => {
        const { devicectl, curl } = linesOfCall(add, values, { run: RUN, others: true, newer: false });
        const [words = [], asked = []] = split([devicectl!, curl!.replace(/^curl/, 'devicectl')]);
        assert.deepEqual(words.slice(0, 2), ['call', 'agenda.add']);
        assert.deepEqual(words.slice(-2), ['--app', 'com.example.agenda']);
        const read = words.slice(2, -2).map((one) => {
          const [, key = '', operator, value = ''] = /^([^=:]+)(:=|=)([\s\S]*)$/.exec(one) ?? [];
          return [key, operator === ':=' ? JSON.parse(value) : value];
        });
        const plain = JSON.parse(JSON.stringify(values));
        assert.deepEqual(Object.fromEntries(read), plain);
        assert.deepEqual(JSON.parse(asked[asked.indexOf('-d') + 1]!).inputs, plain);
      }),
      { numRuns: runs(200) },
    );
  });
});

interface Route {
  readonly method: string;
  readonly path: string;
}

/** The routes of the RPC document as the REST document has them. */
function pathsOf(methods: readonly { name: string; 'x-rest'?: Route }[]) {
  const paths: Record<string, Record<string, { operationId: string }>> = {};
  for (const { name, 'x-rest': rest } of methods) {
    if (rest === undefined) continue;
    const path = rest.path.replaceAll(/:([^/]+)/g, '{$1}');
    paths[path] = { ...paths[path], [rest.method.toLowerCase()]: { operationId: name } };
  }
  return paths;
}

/** Values of the params of an operation, of the types of its schema: what a form makes. */
function valuesOf({ params, rest }: Operation): fc.Arbitrary<Record<string, unknown>> {
  const properties = (params.properties ?? {}) as Readonly<Record<string, Record<string, unknown>>>;
  const inPath = [...(rest?.path ?? '').matchAll(/\{([^}]+)\}/g)].map(([, name]) => name!);
  const entries = Object.entries(properties).map(([name, schema]) => [name, sampleOf(schema, inPath.includes(name))]);
  const requiredKeys = (params.required ?? []) as string[];
  return fc.record(Object.fromEntries(entries) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys });
}

function sampleOf(schema: Record<string, unknown>, inPath: boolean): fc.Arbitrary<unknown> {
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  const [min, max] = [Number(schema.minimum ?? -1000), Number(schema.maximum ?? 1e6)];
  switch ([schema.type].flat().find((one) => one !== 'null')) {
    case 'string':
      if (schema.contentEncoding === 'base64')
        return fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString('base64'));
      return inPath ? word.filter((text) => text !== '') : nasty;
    case 'integer':
      return fc.integer({ min: Math.ceil(min), max: Math.max(Math.ceil(min), Math.floor(max)) });
    case 'number':
      return fc.double({ min, max: Math.max(min, max), noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(sampleOf((schema.items ?? {}) as Record<string, unknown>, false), { maxLength: 3 });
    case 'object':
      return fc.dictionary(
        fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
        fc.jsonValue({ maxDepth: 2 }),
        { maxKeys: 3 },
      );
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}
