import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  CoreError,
  definePlugin,
  ERROR_CODES,
  FOR_USER,
  type PluginHost,
  type ServiceUser,
} from '@device-core/plugin-api';
import { operationGate, Schemas } from '@device-core/plugin-api/inside/operations';
import { type Operation, type OperationInfo, restStatus } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { call, operation, start } from './helpers.ts';

after(leakCheck());

const ROUTED = operation({
  name: 'test.set',
  capability: 'system.config',
  params: {
    type: 'object',
    required: ['key', 'value'],
    properties: { key: { type: 'string' }, value: {}, note: { type: 'string' } },
  },
  rest: { method: 'PUT', path: '/things/:key', status: 201, failure: { bare: true, otherwise: 500 } },
  errors: ['CONFIG_CONFLICT'],
});
const QUERY = operation({
  name: 'test.find',
  anonymous: true,
  rpc: false,
  rest: { method: 'GET', path: '/things', bare: true },
});

describe('the table', () => {
  const CONFLICTS = [
    { what: 'a name twice', first: {}, second: {} },
    {
      what: 'a route twice, whatever its segments are called',
      first: { rest: { method: 'GET', path: '/a/:x' } },
      second: { name: 'test.other', rest: { method: 'GET', path: '/a/:y' } },
    },
    { what: 'a path below /v1', first: { name: 'test.a' }, second: { rest: { method: 'GET', path: '/v1/a' } } },
    { what: 'a name without a dot', first: { name: 'test.a' }, second: { name: 'echo' } },
  ] as const;
  for (const { what, first, second } of CONFLICTS) {
    it(`refuses ${what}`, async () => {
      await using fixture = await start();
      fixture.table.add(operation(first));
      await assert.rejects(async () => await fixture.table.add(operation(second)), {
        code: 'OPERATION_CONFLICT',
        message: /^cannot add operation \S+: /,
      });
    });
  }

  const WRONG = operation({ params: { type: 'object', properties: { a: { type: 'strin' } } } });

  it('refuses a schema of an outside author that does not compile, and a capability that does not exist', async () => {
    const scopes: PluginHost[] = [];
    const taker = definePlugin({ setup: (host: PluginHost) => void scopes.push(host) });
    const host = await createTestHost(taker, {
      manifest: { id: 'taker', version: '1.0.0', summary: 't', api: '*', main: '.' },
    });
    const before = { promise: async () => undefined, isUsed: () => false } as never;
    const confirm = before;
    const { service, table } = operationGate({ ...scopes[0]!, before, confirm, checkResults: () => true });
    const outside: ServiceUser = { plugin: 'guest', outside: true, measured: (_, fn) => fn, failed: () => undefined };
    const theirs = service[FOR_USER](outside);
    assert.throws(() => theirs.add(WRONG), { code: 'PARAMS_INVALID' });
    assert.throws(() => theirs.add(operation({ capability: 'bridge.spi' })), { code: 'CAPABILITY_UNKNOWN' });
    theirs.add(operation());
    assert.deepEqual(
      table.list().map(({ name }) => name),
      ['test.echo'],
    );
    await host.stop();
  });

  it('compiles a schema of the tree when it is called, and names its faults then', async () => {
    await using fixture = await start();
    fixture.table.add(WRONG);
    for (const again of [1, 2])
      await assert.rejects(
        fixture.table.invoke('test.echo', {}, call()),
        /cannot accept the schema of params of test\.echo/,
        `call ${again}`,
      );
  });

  it('refuses members of params that take none as Ajv does, without it', () => {
    const schemas = new Schemas();
    const own = schemas.params('test.none', { type: 'object', additionalProperties: false });
    const ajv = schemas.params('test.none', { type: 'object', additionalProperties: false, properties: {} });
    const said = (check: (params: unknown) => void, params: unknown) => {
      try {
        return check(params);
      } catch (error) {
        const { code, message, details } = error as CoreError;
        return { code, message, details };
      }
    };
    for (const params of [
      {},
      { a: 1 },
      { b: 1, a: 2 },
      { 0: 1 },
      { ['x'.repeat(90)]: 1 },
      { 'a/b~c': 1 },
      [],
      ['a'],
      null,
      'a',
      7,
    ])
      assert.deepEqual(said(own, params), said(ajv, params), JSON.stringify(params));
  });

  it('tells watchers at once and then once per turn', async () => {
    await using fixture = await start();
    await fixture.host.settle();
    const seen: string[][] = [];
    const watch = fixture.table.watch((list) =>
      seen.push(list.map(({ name }) => name).filter((n) => n.startsWith('test.'))),
    );
    const entries = ['test.a', 'test.b', 'test.c'].map((name) => fixture.table.add(operation({ name })));
    await fixture.host.settle();
    entries[1]![Symbol.dispose]();
    entries[1]![Symbol.dispose]();
    await fixture.host.settle();
    watch[Symbol.dispose]();
    entries[0]![Symbol.dispose]();
    await fixture.host.settle();
    // What has just gone may be back in a moment.
    const all = ['test.a', 'test.b', 'test.c'];
    assert.deepEqual(seen, [[], all, all]);
    assert.ok(!(await fixture.table.list()).some(({ name }) => name === 'test.b'));
  });
});

describe('the documents', () => {
  it('describe every route in OpenAPI 3.1, with the status of every code', async () => {
    await using fixture = await start();
    fixture.table.add(ROUTED);
    fixture.table.add(QUERY);
    const document = (await fixture.table.invoke('system.openapi', {}, call())) as OpenApi;
    assert.equal(document.openapi, '3.1.0');
    const listed = (await fixture.table.list()).filter((entry) => entry.rest);
    assert.deepEqual(Object.keys(document.paths).sort(), listed.map(pathOf).sort());
    for (const entry of listed) {
      const described = document.paths[pathOf(entry)]![entry.rest!.method.toLowerCase()]!;
      assert.equal(described.operationId, entry.name);
      for (const [status, response] of Object.entries(described.responses)) {
        assert.ok(response.description.length > 0);
        for (const code of response['x-codes'] ?? []) assert.equal(restStatus(entry.rest, code), Number(status), code);
      }
      for (const error of entry.errors) {
        const status = restStatus(entry.rest, error);
        const code = typeof error === 'string' ? error : error.code;
        assert.ok(described.responses[status]!['x-codes']!.includes(code as keyof typeof ERROR_CODES));
      }
    }
    const put = document.paths['/things/{key}']!.put!;
    assert.deepEqual(
      put.parameters!.map(({ name, in: place }) => `${place} ${name}`),
      ['path key'],
    );
    assert.deepEqual(put.requestBody!.content['application/json'].schema.required, ['value']);
    assert.deepEqual(
      Object.keys(put.responses).filter((status) => status < '400'),
      ['201'],
    );
    assert.ok(put.responses[500]!['x-codes']!.includes('CONFIG_CONFLICT'));
    assert.ok(put.responses[403]!['x-codes']!.includes('CAPABILITY_DENIED'));
    const get = document.paths['/things']!.get!;
    assert.deepEqual(get.parameters!.map(({ name, required }) => [name, required]).at(0), ['text', true]);
    assert.deepEqual(get.security, [{}, { token: [] }]);
  });

  it('describe the deadline that every route takes', async () => {
    await using fixture = await start();
    const { info, components } = (await fixture.table.invoke('system.openapi', {}, call())) as OpenApi;
    const { name, in: place, required, schema } = components.parameters.DeviceDeadlineMs!;
    assert.deepEqual(
      [name, place, required, schema],
      ['Device-Deadline-Ms', 'header', false, { type: 'number', minimum: 0 }],
    );
    assert.match(info.description, /Every operation takes the header of `components\.parameters\.DeviceDeadlineMs`/);
  });

  it('hold only references that resolve', async () => {
    await using fixture = await start();
    fixture.table.add(ROUTED);
    const document = await fixture.table.invoke('system.openapi', {}, call());
    JSON.stringify(document, (key, value) => {
      if (key !== '$ref') return value;
      const found = String(value)
        .slice(2)
        .split('/')
        .reduce<unknown>((node, part) => (node as Record<string, unknown>)?.[part], document);
      assert.ok(found, String(value));
      return value;
    });
  });

  it('describe every method in OpenRPC 1.3 and follow the table', async () => {
    await using fixture = await start();
    const entry = fixture.table.add(ROUTED);
    fixture.table.add(QUERY);
    const methods = async () => ((await fixture.table.invoke('rpc.discover', {}, call())) as OpenRpc).methods;
    assert.deepEqual(
      (await methods()).map(({ name }) => name),
      ['operations.list', 'rpc.discover', 'system.asyncapi', 'system.openapi', 'test.set'],
    );
    const method = (await methods()).find(({ name }) => name === 'test.set')!;
    assert.deepEqual(
      method.params.map(({ name, required }) => [name, required]),
      [
        ['key', true],
        ['value', true],
        ['note', false],
      ],
    );
    for (const error of method.errors) assert.equal(error.code, ERROR_CODES[error.data.code][1]);
    entry[Symbol.dispose]();
    assert.ok(!(await methods()).some(({ name }) => name === 'test.set'));
  });

  it('carry in OpenRPC what a client makes a command of', async () => {
    await using fixture = await start();
    const cli: Operation['cli'] = { command: 'put', fixed: ['key', 'value'], columns: ['key', ['WHAT', '{value}']] };
    fixture.table.add({ ...ROUTED, cli, timeoutMs: 50_000 });
    const { methods } = (await fixture.table.invoke('rpc.discover', {}, call())) as OpenRpc;
    const method = methods.find(({ name }) => name === 'test.set')!;
    assert.deepEqual(method['x-rest'], { method: 'PUT', path: '/things/:key' });
    assert.deepEqual(method['x-cli'], cli);
    assert.equal(method['x-timeout-ms'], 50_000);
    assert.deepEqual(methods.find(({ name }) => name === 'rpc.discover')!['x-rest'], {
      method: 'GET',
      path: '/openrpc.json',
      bare: true,
    });
  });

  it('name an error type for every thrown code', () => {
    assert.equal(restStatus(ROUTED.rest, 'BUSY'), 429);
    assert.equal(restStatus(ROUTED.rest, 'TIMEOUT'), 500);
    assert.equal(restStatus(undefined, 'TIMEOUT'), new CoreError('TIMEOUT').status);
  });
});

interface OpenApi {
  openapi: string;
  info: { description: string };
  components: { parameters: Record<string, { name: string; in: string; required: boolean; schema: object }> };
  paths: Record<
    string,
    Record<
      string,
      {
        operationId: string;
        security?: object[];
        parameters?: { name: string; in: string; required: boolean }[];
        requestBody?: { content: { 'application/json': { schema: { required: string[] } } } };
        responses: Record<string, { description: string; 'x-codes'?: (keyof typeof ERROR_CODES)[] }>;
      }
    >
  >;
}
interface OpenRpc {
  methods: {
    name: string;
    params: { name: string; required: boolean }[];
    errors: { code: number; data: { code: keyof typeof ERROR_CODES } }[];
    'x-rest'?: object;
    'x-cli'?: object;
    'x-timeout-ms'?: number;
  }[];
}

function pathOf(entry: OperationInfo): string {
  return entry.rest!.path.replaceAll(/:([^/]+)/g, '{$1}');
}
