/** An installed plugin takes no name of the Core, before and after the owner starts, and one with names of its own works from end to end. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { settledChange } from '../fixtures/changes.ts';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';
import { Packages } from '../fixtures/packages.ts';
import { devicectlProcess as devicectl } from '../plugins/cli/run-devicectl.ts';

const CORE = ['operations', 'identity', 'system', 'changes', 'http', 'limits', 'rpc', 'config', 'events', 'functions'];
const APPS = ['apps', 'app-store', 'supervisor-process'];
const PLUGINS = Object.fromEntries([...CORE, ...APPS].map((id) => [id, '^1.0.0'] as const));

const packages = new Packages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

const page = (more: object, path = '/aardvark/page') => ({
  rest: { method: 'GET', path },
  page: { title: 'All', columns: ['id'], ...more },
});
/** What the hostile plugin adds, and why it is refused. */
const TRIES: readonly (readonly [what: string, row: object, code: string, reason: RegExp])[] = [
  ['a name of the Core', { name: 'apps.list' }, 'OPERATION_CONFLICT', /begin with aardvark\..*`id: aardvark`/],
  ['a free name of the Core', { name: 'apps.grantx' }, 'OPERATION_CONFLICT', /begin with aardvark\./],
  ['a name of a plugin that is not there', { name: 'secrets.put' }, 'OPERATION_CONFLICT', /begin with aardvark\./],
  ['its id as a part of the name', { name: 'aardvarks.list' }, 'OPERATION_CONFLICT', /begin with aardvark\./],
  ['a name in capitals', { name: 'aArdvark.list' }, 'OPERATION_CONFLICT', /begin with aardvark\./],
  ['a path of the Core', { rest: { method: 'GET', path: '/apps' } }, 'OPERATION_CONFLICT', /path \/apps has to lie/],
  ['any path', { rest: { method: 'GET', path: '/:x' } }, 'OPERATION_CONFLICT', /path \/:x has to lie below \/aardvark/],
  [
    'a path beside its own',
    { rest: { method: 'POST', path: '/aardvarks/x' } },
    'OPERATION_CONFLICT',
    /has to lie below/,
  ],
  ['a command of the Core', { cli: { command: 'app list' } }, 'OPERATION_CONFLICT', /command app list has to begin/],
  ['another word for it', { cli: { aliases: ['why'] } }, 'OPERATION_CONFLICT', /command why has to begin/],
  ['callers without identity', { anonymous: true }, 'CAPABILITY_DENIED', /capabilities: \[operations\.anonymous\]/],
  ['a question to people', { sensitive: { act: 'remove all' } }, 'CAPABILITY_DENIED', /operations\.sensitive/],
  ['no errors', { errors: undefined }, 'OPERATION_CONFLICT', /errors is missing.*plugin aardvark/],
  ['a summary that is none', { summary: 7 }, 'OPERATION_CONFLICT', /summary is 7.*plugin aardvark/],
  ['many values', { description: 'x', result: { enum: 'MANY' } }, 'OPERATION_CONFLICT', /more than 10000 values/],
  ['a page that calls the Core', page({ detail: 'apps.remove' }), 'OPERATION_CONFLICT', /may call aardvark\.\* alone/],
  ['a page with strings of the Core', page({ words: 'shell' }), 'OPERATION_CONFLICT', /page has words/],
  [
    'a form by schemas of its own',
    page({ edit: { operation: 'aardvark.set', member: 'value', schema: 'schema' } }),
    'OPERATION_CONFLICT',
    /page has edit/,
  ],
  ['a page without a title', page({ title: undefined }), 'OPERATION_CONFLICT', /page has no title/],
  [
    'a page of one row in the menu',
    page({}, '/aardvark/page/:id'),
    'OPERATION_CONFLICT',
    /has a title for the menu, and \/aardvark\/page\/:id needs a row/,
  ],
  ['functions', { result: { default: 'FUNCTION' } }, 'OPERATION_CONFLICT', /result\.default is a function/],
];

const HOSTILE = `
const TRIES = ${JSON.stringify(TRIES.map(([, row]) => [row, 'errors' in row]))};
const row = (more) => ({ name: 'aardvark.try', summary: 's', params: { type: 'object' }, result: {}, errors: [], run: async () => ({}), ...more });
export const plugin = {
  requires: { operations: { kind: 'service', id: 'operations', version: '1.0.0' } },
  async setup(host, { operations }) {
    const outcomes = [];
    for (const [more, bare] of TRIES) {
      const given = row(more);
      if (bare) delete given.errors;
      if (given.result.enum === 'MANY') given.result = { enum: Array.from({ length: 20000 }, (_, n) => n) };
      if (given.result.default === 'FUNCTION') given.result = { default: () => 1 };
      try {
        await operations.add(given);
        outcomes.push(['added']);
      } catch (error) {
        outcomes.push([error.code ?? error.name, error.message]);
      }
    }
    host.scope.use('own', operations.add(row({ name: 'aardvark.tried', rest: { method: 'GET', path: '/aardvark/tried' }, run: async () => ({ outcomes }) })));
  },
};
`;

class Device implements AsyncDisposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dc-'));
  core!: Core;

  async start(): Promise<this> {
    const store = {
      version: '^1.0.0',
      config: { probationMs: 100, unsignedIsolation: 'worker', leastIsolation: 'worker' },
    };
    this.core = await startCore({ plugins: { ...PLUGINS, 'plugin-store': store }, root: this.root });
    return this;
  }

  async install(source: string, more: object = {}): Promise<Record<string, unknown>> {
    const signal = AbortSignal.timeout(60_000);
    const call = { caller: { kind: 'operator', id: 'operator' }, signal, deadline: Date.now() + 60_000 } as const;
    const answer = await this.core.service(operations).invoke('plugins.install', { source, ...more }, call);
    const { change } = answer as { readonly change?: string };
    return settledChange(() => this.core.service(changes).get(String(change)));
  }

  /** As an operator who has seen the claims. */
  async accepted(source: string, more: object = {}): Promise<void> {
    try {
      await this.install(source, more);
    } catch (error) {
      const { code, details } = error as { readonly code?: string; readonly details: { readonly digest: string } };
      if (code !== 'CLAIMS_UNACCEPTED') throw error;
      await this.install(source, { ...more, accept: details.digest });
    }
  }

  get(path: string): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
    return new Promise((resolve, reject) => {
      const call = request({ socketPath: join(this.root, 'run/core.sock'), path, agent: false }, async (response) =>
        resolve({ status: response.statusCode ?? 0, body: (await json(response)) as Record<string, unknown> }),
      );
      call.on('error', reject);
      call.end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.core.stop();
    rmSync(this.root, { recursive: true, force: true });
  }
}

async function checkOutcomes(device: Device): Promise<void> {
  const { body } = await device.get('/aardvark/tried');
  const outcomes = body.outcomes as readonly (readonly [code: string, message: string])[];
  for (const [index, [what, , code, reason]] of TRIES.entries()) {
    const [got, message = ''] = outcomes[index]!;
    assert.equal(got, code, `${what}: ${message}`);
    assert.match(message, reason, what);
  }
  const { status, body: listed } = await device.get('/apps');
  assert.equal(status, 200);
  assert.deepEqual(listed.apps, []);
  const owner = (await device.core.service(operations).list()).find(({ name }) => name === 'apps.list')?.plugin;
  assert.equal(owner, 'apps');
  const { plugins } = await device.core.kernel.status();
  assert.deepEqual(
    plugins.filter(({ state }) => state !== 'active').map(({ id }) => id),
    [],
  );
  const refused = (await device.core.service(grants).refusals()).map(({ capability }) => capability);
  assert.ok(refused.includes('operations.anonymous') && refused.includes('operations.sensitive'));
  for (const name of ['apps.list', 'apps.grantx', 'secrets.put'])
    assert.ok(refused.includes(`operation.${name}`), name);
}

/** It was there first: the owner of the names starts after it, without a restart of the device. */
async function startFirst({ core: { kernel } }: Device): Promise<void> {
  await kernel.disable('apps');
  await kernel.restart('aardvark');
  await kernel.enable('apps');
  await eventually(async () => (await kernel.status()).plugins.every(({ state }) => state === 'active'), 'the owner');
}

for (const isolation of ['worker', 'process'] as const)
  test(`names of the Core are refused to an installed plugin at level ${isolation}`, async () => {
    await using device = await new Device().start();
    const manifest = ['requires: { operations: ^1.0.0 }'];
    await device.accepted(packages.folder({ id: 'aardvark', manifest, code: HOSTILE }), { isolation });
    await eventually(async () => (await device.get('/aardvark/tried')).status === 200, 'the outcomes');
    await checkOutcomes(device);
    await startFirst(device);
    await eventually(async () => (await device.get('/aardvark/tried')).status === 200, 'the outcomes');
    await checkOutcomes(device);
    // With the device it starts beside the owners of these names.
    await device.core.stop();
    await device.start();
    await eventually(async () => (await device.get('/aardvark/tried')).status === 200, 'the outcomes');
    await checkOutcomes(device);
  });

const GOOD = `
export const plugin = {
  requires: { operations: { kind: 'service', id: 'operations', version: '1.0.0' } },
  setup(host, { operations }) {
    host.scope.use('own', operations.add({
      name: 'rainGauge.read', summary: 'reads', params: { type: 'object' }, anonymous: true, errors: [],
      result: { type: 'object', properties: { mm: { type: 'number' } } },
      rest: { method: 'GET', path: '/rain-gauge/read' }, cli: { command: 'rain-gauge read' },
      run: async () => { host.bus.publish('plugin.rain-gauge.read', { mm: 4 }); return { mm: 4 }; },
    }));
  },
};
`;

test('an installed plugin with names of its own answers over REST and by its command', async () => {
  await using device = await new Device().start();
  const manifest = [
    'requires: { operations: ^1.0.0 }',
    'publishes: [plugin.rain-gauge.**]',
    'capabilities: [operations.anonymous]',
  ];
  const folder = packages.folder({ id: 'rain-gauge', manifest, code: GOOD });
  await assert.rejects(device.install(folder), /holds operations\.anonymous/);
  await device.accepted(folder);
  await eventually(async () => (await device.get('/rain-gauge/read')).status === 200, 'its operation');
  assert.deepEqual((await device.get('/rain-gauge/read')).body, { ok: true, mm: 4 });
  const { code, stdout, stderr } = await devicectl(['rain-gauge', 'read', '--root', device.root]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /4/);
});
