/** The compatibility suite of docs/examples/cts on a Core with a simulated bridge. Costs a whole Core with the suite as a process. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Caller, CoreError } from '@device-core/plugin-api';
import { apps } from '@device-core/plugin-api/services/apps';
import { functions } from '@device-core/plugin-api/services/functions';
import { type Operation, operations } from '@device-core/plugin-api/services/operations';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { WITHOUT_PYTHON } from '../fixtures/python.ts';

const CTS = 'org.device-core.cts';
const HANDLE = { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0 };
const PLUGINS = [
  ...['operations', 'identity', 'system', 'http', 'limits', 'rpc', 'events', 'functions', 'config', 'prompts'],
  ...['supervisor-process', 'apps', 'port-sim', 'endpoints', 'cbp', 'spi'],
];
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };

/** An operation whose answer is none of its document: the Core sends none of it. */
const BROKEN: Operation<never, { readonly hour: number }> = {
  name: 'broken.hour',
  summary: 'what hour it is',
  params: { type: 'object' },
  result: { type: 'object', required: ['hour'], properties: { hour: { type: 'integer', maximum: 23 } } },
  rest: { method: 'GET', path: '/broken/hour' },
  errors: [],
  run: async () => ({ hour: 25 }),
};

interface Report {
  readonly state: string;
  readonly failed: number;
  readonly report: string;
}

/** It starts, or starts again after its rights changed. */
function notYet(error: unknown): undefined {
  if (!(error instanceof CoreError) || !/^APP_|^FUNCTION_|^CANCELLED$|^UNAVAILABLE$/.test(error.code)) throw error;
}

describe('the compatibility suite', { skip: WITHOUT_PYTHON }, () => {
  let core: Core;
  before(async () => {
    core = await startCore({
      plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
      config: {
        apps: { folders: ['docs/examples/cts'] },
        'port-sim': { board: 'demo' },
        spi: { handles: [HANDLE] },
      },
      grants: { [CTS]: ['bridges.spi:flash'] },
    });
  });
  after(() => core?.stop());

  const invoke = (name: string, params: object) =>
    core.service(operations).invoke(name, params, {
      caller: OPERATOR,
      signal: new AbortController().signal,
      deadline: Number.POSITIVE_INFINITY,
    });

  /** The report of a run whose table says so. */
  const report = (holds: RegExp) =>
    eventually(
      async () => {
        const call = { app: CTS, name: 'cts.report', inputs: {}, caller: OPERATOR };
        const found = await core
          .service(functions)
          .call(call)
          .then((it) => it as unknown as Report, notYet);
        return found?.state === 'done' && holds.test(found.report) ? found : undefined;
      },
      'the report of the suite',
      { ms: 60_000, every: 200 },
    );
  const kept = (name: string) => readFileSync(join(core.paths.var, 'apps', CTS, 'data', name), 'utf8');

  test('finds no failure in a Core that is right, with and without grants', async () => {
    const { failed, report: table } = await report(/holds: .*bridges\.spi:flash/);
    assert.equal(failed, 0, table);
    for (const line of [/^operations +\d{2,} +0 +\d+$/m, /^events +7 +0 +0$/m, /^limits +\d +0 +0$/m])
      assert.match(table, line);
    assert.match(table, /skipped, not in this product:\n.*display\.show/);
    assert.equal(kept('report.txt'), table);
  });

  test('writes JUnit XML that counts the same', async () => {
    const xml = kept('junit.xml');
    const [, tests, failures, skipped] =
      /<testsuites name="compatibility" tests="(\d+)" failures="(\d+)" skipped="(\d+)">/.exec(xml)?.map(Number) ?? [];
    assert.equal(xml.match(/<testcase /g)?.length, tests);
    assert.equal(xml.match(/<skipped /g)?.length, skipped);
    assert.equal(failures, 0);
    for (const name of ['spi.transfer (good)', 'spi.transfer (bad)', 'bridges.spi: granted', 'system.power: refused'])
      assert.ok(xml.includes(`name="${name}"`), name);
  });

  test('reports a capability that was withdrawn, and a wrong answer with its request', async () => {
    using _broken = core.service(operations).add(BROKEN);
    await invoke('apps.revoke', { id: CTS, capability: 'bridges.spi:flash' });
    const { failed, report: table } = await report(/holds: (?!.*bridges\.spi)/);
    assert.equal(failed, 1, table);
    assert.match(
      table,
      /FAILED operations: broken\.hour \(good\)\n.*INTERNAL\nrequest: GET \/broken\/hour\nanswer: 500 /,
    );
    assert.match(kept('junit.xml'), /name="bridges\.spi: withdrawn"[^>]*\/>/);
    const { health } = await core.service(apps).status(CTS);
    assert.match(JSON.stringify(health), /1 checks failed/);
  });
});

const OBJECT = { type: 'object', required: ['a'], properties: { a: { type: 'integer', minimum: 1 } } };
const ANSWERS: readonly (readonly [schema: unknown, value: unknown, problem: string | null])[] = [
  [OBJECT, { a: 1, more: true }, null],
  [OBJECT, {}, 'answer has no a'],
  [OBJECT, { a: '1' }, "answer.a must be integer, not '1'"],
  [OBJECT, { a: true }, 'answer.a must be integer, not True'],
  [OBJECT, { a: 0 }, 'answer.a is 0, out of its range'],
  [{ ...OBJECT, additionalProperties: false }, { a: 1, b: 2 }, 'answer.b must not be there'],
  [{ type: 'array', items: OBJECT }, [{ a: 1 }, {}], 'answer[1] has no a'],
  [{ anyOf: [{ const: 1 }, { enum: ['x'] }] }, 'x', null],
  [{ anyOf: [{ const: 1 }, { enum: ['x'] }] }, 2, 'answer fits no form that is documented: answer must be 1, not 2'],
  [{ type: 'string', pattern: '^a+$' }, 'b', "answer is 'b', which does not match ^a+$"],
  [{ $ref: '#/components/one' }, 5, 'answer must be string, not 5'],
];
const CHECK = `
import json, sys
from schema import Schemas
schemas = Schemas({"components": {"one": {"type": "string"}}})
print(json.dumps([schemas.problem(schema, value) for schema, value, _ in json.load(sys.stdin)]))
`;

test('the suite finds each answer that is not as documented', { skip: WITHOUT_PYTHON }, () => {
  const cwd = join(import.meta.dirname, '../../docs/examples/cts');
  const printed = execFileSync('python3', ['-B', '-c', CHECK], { cwd, input: JSON.stringify(ANSWERS) });
  assert.deepEqual(
    JSON.parse(String(printed)),
    ANSWERS.map(([, , problem]) => problem),
  );
});
