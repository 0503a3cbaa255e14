/** Orders for packages of a repository: what is fetched, what is refused and why, and what becomes of it when things change meanwhile. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { newKeyPair, PLUGIN_PACKAGE, readTree, signTree } from '@device-core/plugin-api/inside/packages';
import { leakCheck } from '@device-core/plugin-api/testing';
import { program as expire } from '../../../plugins/life/maker/repo/expire.ts';
import { AppPackages } from '../../fixtures/app-packages.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { Packages } from '../../fixtures/packages.ts';
import { runProgram } from '../../fixtures/run-program.ts';
import { UpdateRepository } from '../../fixtures/update-repository.ts';
import { cutOff, status, UpdateServer } from '../../fixtures/update-server.ts';
import { Device } from './device.ts';

const leaks = leakCheck();
const ID = 'com.example.guest';
const HERE = `${process.platform}-${process.arch}`;
/** More than a connection holds by itself. */
const LARGE = { id: 'com.example.large', version: '1.0.0-rc.1' };
const HOUR = 3_600_000;
const apps = new AppPackages();
const plugins = new Packages();
const author = newKeyPair();
let pub = '';
let repository: UpdateRepository;
let server: UpdateServer;

const offer = async (version: string, more: object = {}) =>
  repository.offerPackage('app', await apps.pack({ id: ID, version, key: author.privateKey, ...more }), pub);

before(async () => {
  pub = apps.file(Buffer.from(author.publicKey), 'author.pub');
  repository = await UpdateRepository.create();
  server = await UpdateServer.open(repository.folder);
  await offer('1.0.0');
  await offer('1.10.0');
  await offer('1.9.0');
  await offer('2.0.0-rc.1');
  await offer('3.0.0', { manifest: { platform: [HERE === 'linux-x64' ? 'linux-arm64' : 'linux-x64'] } });
  await offer('1.11.0');
  await offer('1.0.0-rc.1', { id: 'com.example.large', files: { noise: randomBytes(1_500_000) } });
  await offer('1.0.0', { id: 'com.example.lamp', manifest: { title: 'Lamp', platform: [HERE] } });
  await runProgram(expire, {
    repository: repository.folder,
    keys: repository.keys,
    channel: 'apps',
    version: '1.11.0',
    id: ID,
    reason: 'it burns',
  });
  const quiet = { id: 'chime', version: '0.3.0' };
  const folder = plugins.folder(quiet);
  const { hash } = await readTree(PLUGIN_PACKAGE, folder, readdirSync(folder).sort(), 1 << 20);
  const files = { 'plugin.sig': signTree(PLUGIN_PACKAGE, hash, author.privateKey) };
  await repository.offerPackage('plugin', plugins.tarball({ ...quiet, files }), pub);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await repository[Symbol.asyncDispose]();
  apps[Symbol.dispose]();
  plugins[Symbol.dispose]();
  await leaks();
});

async function started(config: object = {}): Promise<Device> {
  server.answer();
  return new Device({ url: server.url, root: repository.root, automatic: 'off', ...config }).start();
}

const waiting = (device: Device): readonly string[] => {
  const folder = join(device.folder, 'packages');
  return existsSync(folder) ? readdirSync(folder) : [];
};

describe('packages of a repository', () => {
  it('are listed with the newest release that runs here', async () => {
    await using device = await started();
    const { packages, more } = await device.table.run<{ packages: Record<string, unknown>[]; more: number }>(
      ...(['apps.available', {}] as const),
    );
    assert.equal(more, 0);
    assert.deepEqual(
      packages.map(({ id, version, title }) => [id, version, title]),
      [
        [ID, '1.10.0', 'guest'],
        ['com.example.lamp', '1.0.0', 'Lamp'],
      ],
    );
    const { packages: found } = await device.table.run<{ packages: Record<string, unknown>[] }>(
      'plugins.available',
      {},
    );
    assert.deepEqual(
      found.map(({ id, version }) => [id, version]),
      [['chime', '0.3.0']],
    );
  });

  it('are fetched by their ids, the newest release or the version that is named, under a name that says what they are', async () => {
    await using device = await started();
    const newest = await device.fetch('app', { id: ID });
    assert.equal(newest.version, '1.10.0');
    assert.match(newest.source, /\/packages\/[0-9a-f-]{36}\/com\.example\.guest-1\.10\.0\.app$/);
    assert.ok(readFileSync(newest.source).length > 0);
    assert.equal((await device.fetch('app', { id: ID, version: '1.9.0' })).version, '1.9.0');
    assert.equal((await device.fetch('app', { id: ID, version: '2.0.0-rc.1' })).version, '2.0.0-rc.1');
    assert.match((await device.fetch('plugin', { id: 'chime' })).source, /chime-0\.3\.0\.tgz$/);
  });

  it('wait for an hour, four of them, and go with the Core', async () => {
    await using device = await started();
    const first = await device.fetch('app', { id: ID });
    for (let turn = 0; turn < 4; turn += 1) await device.fetch('app', { id: ID, version: '1.9.0' });
    await eventually(() => waiting(device).length === 4, 'four packages');
    assert.ok(!existsSync(first.source), 'the oldest went');
    await device.clock.advance(HOUR);
    await eventually(() => waiting(device).length === 0, 'no package');
    await device.fetch('app', { id: ID });
    await device.end();
    assert.equal(waiting(device).length, 1);
    await device.start();
    assert.equal(waiting(device).length, 0);
  });

  const REFUSALS: readonly (readonly [noun: 'app' | 'plugin', params: object, code: string, reason: RegExp])[] = [
    [
      'app',
      { id: 'com.example.guess' },
      'PACKAGE_NOT_FOUND',
      /has no app com\.example\.guess; did you mean com\.example\.guest\?/,
    ],
    ['app', { id: '../../etc' }, 'PACKAGE_NOT_FOUND', /has no app/],
    [
      'app',
      { id: ID, version: '9.9.9' },
      'PACKAGE_NOT_FOUND',
      /has no app com\.example\.guest 9\.9\.9; it has 3\.0\.0, 2\.0\.0-rc\.1, 1\.11\.0/,
    ],
    [
      'app',
      { id: ID, version: '1.11.0' },
      'FETCH_REFUSED',
      /1\.11\.0: it was called back: it burns \(rule withdrawn\)/,
    ],
    ['app', { id: ID, version: '3.0.0' }, 'PLATFORM_UNSUPPORTED', /it is made for linux-/],
    ['plugin', { id: ID }, 'PACKAGE_NOT_FOUND', /has no plugin/],
  ];
  for (const [noun, params, code, reason] of REFUSALS)
    it(`are refused: ${noun} ${JSON.stringify(params)}`, async () => {
      await using device = await started();
      await assert.rejects(device.fetch(noun, params), { code, message: reason });
      assert.deepEqual(waiting(device), []);
    });

  it('are refused where there is no repository, no room, or a network that costs money, unless the order says so', async () => {
    await using alone = await new Device({ automatic: 'off' }).start();
    const none = { code: 'FETCH_REFUSED', message: /no repository is configured/ };
    await assert.rejects(alone.fetch('app', { id: ID }), none);
    await assert.rejects(alone.table.run('apps.available', {}), none);
    await using full = await started({ maxMB: 1 });
    await assert.rejects(full.fetch('app', LARGE), {
      code: 'FETCH_REFUSED',
      message: /it has 15\d{5} bytes, and there is room for 10\d{5} \(rule space\)/,
    });
    await using device = await started();
    device.host!.publish('system.network', { state: 'online', metered: true });
    await device.host!.settle();
    server.asked.length = 0;
    await assert.rejects(device.fetch('app', { id: ID }), { code: 'FETCH_REFUSED', message: /the network is metered/ });
    assert.ok(
      server.asked.every((path) => path.startsWith('/metadata/')),
      'no package has travelled',
    );
    assert.equal((await device.fetch('app', { id: ID, anyway: true })).version, '1.10.0');
    await using paid = await started({ metered: true });
    paid.host!.publish('system.network', { state: 'online', metered: true });
    await paid.host!.settle();
    assert.equal((await paid.fetch('app', { id: ID })).version, '1.10.0');
  });

  it('are ordered by a person: a hold is for acts of the device by itself', async () => {
    await using device = await started();
    await device.run('hold', { reason: 'exhibition' });
    assert.equal((await device.fetch('app', { id: ID })).version, '1.10.0');
  });

  it('with metadata that only a wrong clock calls ended are refused by the clock, and it is no alarm', async () => {
    await using device = await started();
    await device.clock.advance(600 * 24 * HOUR);
    await assert.rejects(device.fetch('app', { id: ID }), {
      code: 'FETCH_REFUSED',
      message: /ended on .* if the clock is right, and it was not set \(rule clock\)/,
    });
    assert.deepEqual(await alarms(device), []);
  });

  it('that cannot be reached are no alarm, those that cannot be trusted are, until a look is good', async () => {
    await using device = await started({ tries: 2 });
    server.answer([/./, status(500)]);
    await assert.rejects(device.fetch('app', { id: ID }), { code: 'REPOSITORY_FAILED' });
    assert.deepEqual(await alarms(device), []);
    server.answer([
      /timestamp/,
      (_, response, body) =>
        void response.end(body!.toString().replace(/"sig":"[0-9a-f]+"/, `"sig":"${'a'.repeat(128)}"`)),
    ]);
    await assert.rejects(device.fetch('app', { id: ID }), { code: 'REPOSITORY_UNTRUSTED' });
    assert.deepEqual(await alarms(device), ['REPOSITORY_UNTRUSTED']);
    server.answer();
    await device.fetch('app', { id: ID });
    assert.deepEqual(await alarms(device), []);
  });

  it('over a connection that breaks off go on as long as each try brings something, and the next order goes on from there', async () => {
    await using device = await started({ tries: 3 });
    server.answer([/\.app$/, status(500)]);
    server.asked.length = 0;
    await assert.rejects(device.fetch('app', LARGE), { code: 'REPOSITORY_FAILED' });
    assert.equal(server.asked.filter((path) => path.endsWith('.app')).length, 1, 'nothing came, so nobody asks again');
    let turns = 0;
    server.answer([
      /\.app$/,
      (request, response, body) => {
        turns += 1;
        const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
        assert.ok(turns === 1 || from > 0, 'it goes on');
        if (turns < 3) return cutFrom(response, body!, from);
        server.answer();
        response.writeHead(from > 0 ? 206 : 200, {
          'content-range': `bytes ${from}-${body!.length - 1}/${body!.length}`,
        });
        response.end(body!.subarray(from));
      },
    ]);
    assert.equal((await device.fetch('app', LARGE)).version, LARGE.version);
    assert.equal(turns, 3);
    server.answer([/\.app$/, cutOff]);
    await using once = await started({ tries: 1 });
    server.answer([/\.app$/, cutOff]);
    await assert.rejects(once.fetch('app', LARGE), { code: 'REPOSITORY_FAILED' });
    assert.match(waiting(once).join(), /^[0-9a-f]{64}\.part$/);
    server.answer();
    await once.fetch('app', LARGE);
    assert.ok(waiting(once).every((name) => !name.endsWith('.part')));
  });

  it('under way stop when the network begins to cost money, when the caller leaves, and when the Core ends', async () => {
    for (const [end, reason] of [
      [
        (device: Device) => device.host!.publish('system.network', { state: 'online', metered: true }),
        /the network is metered \(rule metered\)/,
      ],
      [
        (device: Device) => device.changes.makers.get('apps.fetch')!.undo('fetch', {}, 'x'),
        /the caller no longer waits/,
      ],
    ] as const) {
      await using device = await started();
      const { maker, data, asked } = await held(device);
      const fetched = maker.perform('fetch', data, 'x');
      await asked;
      const refused = assert.rejects(fetched, { message: reason });
      await end(device);
      await refused;
    }
    await using device = await started();
    const { maker, data, asked } = await held(device);
    const fetched = assert.rejects(maker.perform('fetch', data, 'x'));
    await asked;
    await device.end();
    await fetched;
  });
});

/** What a change would do, with a server that stops in the middle. */
async function held(device: Device) {
  const maker = device.changes.makers.get('apps.fetch')!;
  const seen: object[] = [];
  device.changes.makers.set('apps.fetch', {
    ...maker,
    async perform(_, data) {
      seen.push(data);
      return { result: {} };
    },
  });
  await device.fetch('app', { id: ID });
  device.changes.makers.set('apps.fetch', maker);
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  server.answer([
    /\.app$/,
    (_, response, body) => void response.writeHead(200).write(body!.subarray(0, 9), () => resolve()),
  ]);
  return { maker, data: { ...seen[0] }, asked };
}

function cutFrom(response: Parameters<typeof cutOff>[1], body: Buffer, from: number): void {
  const end = from + Math.ceil((body.length - from) / 2);
  response.writeHead(from > 0 ? 206 : 200, {
    'content-length': body.length - from,
    'content-range': `bytes ${from}-${body.length - 1}/${body.length}`,
  });
  response.write(body.subarray(from, end), () => void response.socket?.end());
}

async function alarms(device: Device): Promise<readonly string[]> {
  const found: string[] = [];
  const report = { add: () => undefined, warn: (code: string) => void found.push(code) };
  await device.host!.hook('health.collect').promise(report as never);
  return found;
}
