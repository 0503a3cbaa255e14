/** What a package claims is shown, and granted before it runs; what nobody of trust signed gets no power of the Core. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { CoreError, PluginManifest } from '@device-core/plugin-api';
import { contractIds, contractOf } from '@device-core/plugin-api/inside/contracts';
import { readInstalled } from '@device-core/plugin-api/inside/installed';
import { filesOf, PLUGIN_PACKAGE, readTree, signTree } from '@device-core/plugin-api/inside/packages';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { beyond, type Claims, claimsOf } from '../../../plugins/apps/plugin-store/claims.ts';
import { type PackageOptions, Packages } from '../../fixtures/packages.ts';
import { runs } from '../../fixtures/runs.ts';
import { startStore } from './start.ts';

const packages = new Packages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const trustedKeys = [publicKey.export({ type: 'spki', format: 'pem' }).toString()];

async function signed(options: PackageOptions): Promise<string> {
  const folder = packages.folder(options);
  const { hash } = await readTree(PLUGIN_PACKAGE, folder, await filesOf(folder, 100), 1_000_000);
  writeFileSync(join(folder, PLUGIN_PACKAGE.signature), signTree(PLUGIN_PACKAGE, hash, pem));
  return folder;
}

const refusal = async (work: Promise<unknown>): Promise<CoreError> =>
  work.then(
    () => assert.fail('it was taken'),
    (error) => error,
  );

const servicesOf = (access: string) => contractIds().filter((id) => contractOf(id)?.access === access);

const CLAIMING: readonly (readonly [what: string, manifest: string, line: string])[] = [
  ['all files to read', 'files: { read: [/] }', 'reads /'],
  ['all files to write', 'files: { write: [/] }', 'writes /'],
  ['the network', 'capabilities: [network.outbound]', 'holds network.outbound'],
  ['a handle of a bus', "capabilities: ['bridges.spi:flash']", 'holds bridges.spi:flash'],
];

describe('claims of a package are asked before they are granted', () => {
  for (const [what, line, claim] of CLAIMING)
    test(what, async () => {
      await using store = await startStore();
      const folder = packages.folder({ manifest: [line] });
      const { code, message, details } = await refusal(store.install(folder));
      assert.equal(code, 'CLAIMS_UNACCEPTED');
      assert.ok(message.includes(claim), message);
      assert.deepEqual(details.added, [claim]);
      assert.ok(!existsSync(join(store.place, 'installed.yaml')));
      const outcome = await store.install(folder, { accept: details.digest });
      assert.deepEqual([outcome.state, outcome.claims], ['probation', details.claims]);
    });

  test('a check shows it without asking', async () => {
    await using store = await startStore();
    const folder = packages.folder({ manifest: ['capabilities: [network.outbound]'] });
    const { state, added, digest } = await store.install(folder, { check: true });
    assert.deepEqual([state, added], ['checked', ['holds network.outbound']]);
    assert.equal((await store.install(folder, { accept: digest })).state, 'probation');
  });

  test('a package without claims is not asked for', async () => {
    await using store = await startStore();
    const { added, claims } = await store.install(packages.folder());
    assert.deepEqual(added, []);
    assert.deepEqual(claims, {
      isolation: 'process',
      capabilities: [],
      files: { read: [], write: [] },
      services: [],
      taps: [],
    });
  });

  test('the digest of another package, or of other claims, grants nothing', async () => {
    await using store = await startStore();
    const manifest = ['capabilities: [network.outbound]'];
    const { details } = await refusal(store.install(packages.folder({ manifest })));
    for (const other of [{ manifest: ['files: { read: [/] }'] }, { manifest, code: 'export const plugin = {};' }])
      assert.equal(
        (await refusal(store.install(packages.folder(other), { accept: details.digest }))).code,
        'CLAIMS_UNACCEPTED',
      );
  });

  test('a package that was swapped after it was looked at is refused, with and without claims', async () => {
    await using store = await startStore();
    for (const manifest of [[], ['capabilities: [network.outbound]']]) {
      const folder = packages.folder({ manifest });
      const { digest } = await store.install(folder, { check: true });
      writeFileSync(join(folder, 'index.mjs'), 'export const plugin = { setup() { process.exit(1); } };');
      const { code, details } = await refusal(store.install(folder, { accept: digest }));
      assert.equal(code, 'CLAIMS_UNACCEPTED');
      assert.notEqual(details.digest, digest);
      assert.ok(!existsSync(join(store.place, 'installed.yaml')));
    }
  });

  test('a manifest that was swapped for one with more claims is refused with what it adds', async () => {
    await using store = await startStore();
    const folder = packages.folder();
    const { digest, added } = await store.install(folder, { check: true });
    assert.deepEqual(added, []);
    const manifest = readFileSync(join(folder, 'plugin.yaml'), 'utf8');
    writeFileSync(join(folder, 'plugin.yaml'), `${manifest}capabilities: [network.outbound]\n`);
    const { code, details } = await refusal(store.install(folder, { accept: digest }));
    assert.deepEqual([code, details.added], ['CLAIMS_UNACCEPTED', ['holds network.outbound']]);
  });

  test('a guest that may install plugins grants nothing to itself or to another', async () => {
    await using store = await startStore();
    const held = ["capabilities: ['system.plugins']"];
    const first = packages.folder({ manifest: held });
    await store.install(first, { accept: (await refusal(store.install(first))).details.digest });
    const guest = { kind: 'plugin', id: 'guest' } as const;
    const by = (source: string, more: object = {}) => store.call('plugins.install', { source, ...more }, guest);
    const more = ["capabilities: ['system.plugins', 'network.outbound']"];
    for (const id of ['guest', 'accomplice']) {
      const wider = packages.folder({ id, version: '2.0.0', manifest: more });
      const { digest } = await by(wider, { check: true });
      assert.equal((await refusal(by(wider, { accept: digest }))).code, 'CALLER_DENIED', id);
    }
    assert.equal((await by(packages.folder({ version: '2.0.0', manifest: held }))).version, '2.0.0');
    assert.equal(readInstalled(store.host.device.paths.var).installed.plugins.guest?.installedBy, 'plugin.guest');
  });

  test('an upgrade asks for new claims, and for nothing else', async () => {
    await using store = await startStore();
    const manifest = ['capabilities: [network.outbound]', "files: { read: ['{etc}/guest'] }"];
    const first = packages.folder({ manifest });
    await store.install(first, { accept: (await refusal(store.install(first))).details.digest });
    const less = ["capabilities: ['network.outbound:api.example.com']", "files: { read: ['{etc}/guest/a.txt'] }"];
    assert.deepEqual((await store.install(packages.folder({ version: '2.0.0', manifest: less }))).added, []);
    const wider = ['capabilities: [network]', "files: { read: ['{etc}'] }"];
    const { details } = await refusal(store.install(packages.folder({ version: '3.0.0', manifest: wider })));
    assert.deepEqual(details.added, ['holds network', 'reads {etc}']);
  });

  test('a version whose files were changed on the disk counts for nothing', async () => {
    await using store = await startStore();
    const manifest = ['capabilities: [network.outbound]'];
    const first = packages.folder({ manifest });
    await store.install(first, { accept: (await refusal(store.install(first))).details.digest });
    const [name = ''] = readdirSync(join(store.place, 'guest')).filter((one) => !one.endsWith('.sha256'));
    const wider = 'id: guest\nversion: 1.0.0\nsummary: s\napi: ^1.0.0\nmain: ./index.mjs\ncapabilities: [system]\n';
    writeFileSync(join(store.place, 'guest', name, 'plugin.yaml'), wider);
    const { details } = await refusal(
      store.install(packages.folder({ version: '2.0.0', manifest: ['capabilities: [system.logs]'] })),
    );
    assert.deepEqual(details.added, ['holds system.logs']);
  });
});

describe('a package without a trusted signature gets no power of the Core', () => {
  const powers: readonly (readonly [string, PackageOptions, object, string, RegExp])[] = [
    ['a place in the Core', {}, { isolation: 'inline' }, 'ISOLATION_UNSUPPORTED', /level process at least/],
    ['a thread of the Core', {}, { isolation: 'worker' }, 'ISOLATION_UNSUPPORTED', /level process at least/],
    ...servicesOf('powerful').map(
      (service) =>
        [
          `service ${service}`,
          { manifest: [`optional: { ${service}: ^1.0.0 }`] },
          {},
          'SIGNATURE_INVALID',
          new RegExp(`it ${contractOf(service)?.does} \\(service ${service}\\); plugin-store.powerfulUnsigned: allow`),
        ] as const,
    ),
    ...['log.line', 'operation.before', 'plugin.load', 'plugin.verify', 'session.open', 'function.call'].map(
      (tap) =>
        [
          `hook ${tap}`,
          { manifest: [`taps: [${tap}]`] },
          {},
          'SIGNATURE_INVALID',
          new RegExp(`it takes part in hook ${tap}; plugin-store.powerfulUnsigned: allow`),
        ] as const,
    ),
  ];
  for (const [what, options, request, code, reason] of powers) {
    test(`${what}: refused, with any answer`, async () => {
      await using store = await startStore({ trustedKeys });
      const error = await refusal(store.install(packages.folder(options), request));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, reason);
    });

    test(`${what}: asked for where it is signed`, async () => {
      await using store = await startStore({ trustedKeys });
      const folder = await signed(options);
      const { code: asked, details } = await refusal(store.install(folder, request));
      assert.equal(asked, 'CLAIMS_UNACCEPTED');
      assert.equal((await store.install(folder, { ...request, accept: details.digest })).state, 'probation');
    });
  }

  test('a SKU may let the operator grant powerful services to an unsigned plugin, the greatest risk first', async () => {
    await using store = await startStore({ powerfulUnsigned: 'allow' });
    const folder = packages.folder({ manifest: ['optional: { timers: ^1.0.0, audio: ^1.0.0, sensors: ^1.0.0 }'] });
    const { code, details } = await refusal(store.install(folder));
    assert.equal(code, 'CLAIMS_UNACCEPTED');
    const audio = 'hears the microphone and plays sound (service audio)';
    assert.deepEqual(details.added, [audio, 'sets and silences timers (service timers)']);
    await store.install(folder, { accept: details.digest });
    const { plugins } = readInstalled(store.host.device.paths.var).installed;
    assert.deepEqual(plugins.guest?.granted, ['audio', 'timers']);
    const wider = ['optional: { timers: ^1.0.0, audio: ^1.0.0, panel: ^1.0.0 }'];
    const upgrade = await refusal(store.install(packages.folder({ version: '2.0.0', manifest: wider })));
    assert.deepEqual(upgrade.details.added, ['draws over everything and sees the whole screen (service panel)']);
  });

  for (const service of servicesOf('tree'))
    test(`service ${service}: never granted`, async () => {
      await using store = await startStore({ trustedKeys, powerfulUnsigned: 'allow' });
      for (const line of [`optional: { ${service}: ^1.0.0 }`, `requires: { ${service}: ^1.0.0 }`]) {
        const { code, message } = await refusal(store.install(await signed({ manifest: [line] }), { check: true }));
        assert.equal(code, 'SERVICE_DENIED', message);
        assert.match(message, /no line of a manifest/);
      }
    });

  test('an installed plugin provides no contract of the Core', async () => {
    await using store = await startStore({ trustedKeys });
    for (const service of contractIds()) {
      const folder = await signed({ manifest: [`provides: { ${service}: 1.0.0 }`] });
      assert.equal((await refusal(store.install(folder, { check: true }))).code, 'SERVICE_DENIED', service);
    }
  });

  test('an installed plugin provides nothing that a person takes for a contract of the Core', async () => {
    await using store = await startStore({ trustedKeys });
    for (const service of ['pane1', 'voices', 'aud1o', 'app-st0re', 'plugin--manager', 'secret']) {
      const folder = await signed({ manifest: [`provides: { ${service}: 1.0.0 }`] });
      const { code, message } = await refusal(store.install(folder, { check: true }));
      assert.equal(code, 'SERVICE_DENIED', service);
      assert.match(message, /it looks like/);
    }
    for (const service of ['p\u0430nel', 'panel\u200b', 'P\uff41nel']) {
      const folder = await signed({ manifest: [`provides: { "${service}": 1.0.0 }`] });
      assert.equal((await refusal(store.install(folder, { check: true }))).code, 'MANIFEST_INVALID', service);
    }
    await store.install(await signed({ manifest: ['provides: { tea: 1.0.0 }'] }), { check: true });
  });

  test('a SKU may trust unsigned packages, and its health says so', async () => {
    await using store = await startStore({ unsignedIsolation: 'inline' });
    const folder = packages.folder();
    const { details } = await refusal(store.install(folder, { isolation: 'inline' }));
    assert.equal((await store.install(folder, { isolation: 'inline', accept: details.digest })).isolation, 'inline');
    const warnings: string[] = [];
    const report = { add: () => undefined, warn: (code: string) => void warnings.push(code) };
    await store.host.hook('health.collect').promise(report as never);
    assert.deepEqual(warnings, ['UNSIGNED_TRUSTED']);
  });

  test('an unsigned plugin that an earlier Core took in is not run inside of this one', async () => {
    await using store = await startStore({ unsignedIsolation: 'inline' });
    const folder = packages.folder();
    const { details } = await refusal(store.install(folder, { isolation: 'worker' }));
    await store.install(folder, { isolation: 'worker', accept: details.digest });
    const [name = ''] = readdirSync(join(store.place, 'guest')).filter((one) => !one.endsWith('.sha256'));
    const at = `${join(store.place, 'guest', name)}/`;
    const { verifyInstalled } = await import('../../../plugins/apps/plugin-store/trust.ts');
    const [plugin] = (await store.call('plugins.installed')).plugins as never[];
    const policy = {
      unsignedIsolation: 'process',
      powerfulUnsigned: 'refuse',
      signatures: 'warn',
      trustedKeys,
    } as const;
    const limits = { files: 100, bytes: 1_000_000 };
    await assert.rejects(
      verifyInstalled({ id: 'guest' } as PluginManifest, at, { place: store.place, plugin, limits, policy }),
      {
        code: 'ISOLATION_UNSUPPORTED',
      },
    );
  });
});

test('nothing that was not granted is ever taken for granted', async () => {
  const paths = fc.subarray(['/', '/a', '/a/*', '/a/b', '/ab', '{etc}', '{etc}/x', '{var}/*']);
  const manifest = fc.record({
    capabilities: fc.subarray(['network', 'network.outbound', 'network.outbound:a', 'bridges.spi:f', 'system']),
    files: fc.record({ read: paths, write: paths }),
  });
  const covers = (folder: string, path: string) => {
    const base = folder.replace(/\/?\*?$/, '');
    return path === folder || path.startsWith(`${base}/`);
  };
  await fc.assert(
    fc.property(manifest, manifest, (now, then) => {
      const [claims, former] = [now, then].map((one) => claimsOf(one as never, 'process')) as [Claims, Claims];
      const added = beyond(claims, former);
      for (const path of claims.files.write)
        if (!former.files.write.some((folder) => covers(folder, path))) assert.ok(added.includes(`writes ${path}`));
      for (const one of claims.capabilities)
        if (
          !former.capabilities.some((held) => one === held || one.startsWith(`${held}.`) || one.startsWith(`${held}:`))
        )
          assert.ok(added.includes(`holds ${one}`));
      assert.deepEqual(beyond(former, former), []);
    }),
    { numRuns: runs(1_000) },
  );
});
