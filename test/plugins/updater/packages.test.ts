/** Packages of a repository, as the client of TUF sees them: whatever a server or a thief says, a file is what was named, or it is not taken. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { newKeyPair, type PackageOffer, packageTarget } from '@device-core/plugin-api/inside/packages';
import type { Edition } from '../../../plugins/life/maker/repo/edition.ts';
import type { TargetEntry } from '../../../plugins/life/maker/repo/metadata.ts';
import type { OfferedPackage } from '../../../plugins/life/updater/repository.ts';
import { AppPackages } from '../../fixtures/app-packages.ts';
import { UpdateRepository } from '../../fixtures/update-repository.ts';
import * as web from '../../fixtures/update-server.ts';
import { DAY, FAILED, latest, metadata, UNTRUSTED, type World, world, worlds } from './repository-world.ts';

const ID = 'com.example.guest';
const author = newKeyPair();
const packages = new AppPackages();
let pub = '';
before(() => {
  pub = packages.file(Buffer.from(author.publicKey), 'author.pub');
});
/** Its device has seen 1.0.0, and its repository offers 1.1.0 since. */
worlds(async (at) => {
  await offer(at, '1.0.0');
  assert.deepEqual(names(await at.packages()), [`${ID} 1.0.0`]);
  await offer(at, '1.1.0');
});
after(() => packages[Symbol.dispose]());

const offer = async (at: World, version: string, files = {}) =>
  at.repository.offerPackage('app', await packages.pack({ id: ID, version, key: author.privateKey, files }), pub);

const names = (all: readonly OfferedPackage[]) => all.map(({ id, version }) => `${id} ${version}`);

const entryOf = (edition: Edition): readonly [string, TargetEntry] =>
  Object.entries(edition.role('apps').targets).at(-1)!;

const withTarget =
  (role: string, name: (path: string) => string, more: object = {}) =>
  (edition: Edition): void => {
    const [path, entry] = entryOf(edition);
    const forged = { ...entry, custom: { ...entry.custom, ...more } };
    edition.edit(role, (one) => ({ ...one, targets: { ...one.targets, [name(path)]: forged } }));
  };

suite('packages that a repository names', () => {
  test('are found beside images, with what their role says, and asked for once', async () => {
    await using at = await world();
    const source = at.source();
    const found = await source.packages('app', new AbortController().signal);
    assert.deepEqual(names(found), [`${ID} 1.0.0`, `${ID} 1.1.0`]);
    assert.equal(found[1]?.path, packageTarget('app', found[1] as PackageOffer));
    assert.deepEqual(await source.packages('plugin', new AbortController().signal), []);
    at.server.asked.length = 0;
    await source.packages('app', new AbortController().signal);
    assert.deepEqual(at.server.asked, ['/metadata/2.root.json', '/metadata/timestamp.json']);
    assert.equal(await at.version(), '1.1.0');
  });

  const LOOKS: readonly {
    readonly name: string;
    readonly make: (at: World) => Promise<void> | void;
    readonly code: RegExp;
    readonly reason: RegExp;
  }[] = [
    {
      name: 'an older timestamp, with all that belongs to it',
      async make(at) {
        const old = join(at.repository.place, 'old');
        await cp(at.repository.folder, old, { recursive: true });
        await offer(at, '1.2.0');
        assert.equal((await at.packages()).length, 3);
        at.server.serve(old);
      },
      code: UNTRUSTED,
      reason: /timestamp version \d+ is less than current version/,
    },
    {
      name: 'an old role of apps below a new snapshot',
      async make(at) {
        const old = await readFile(metadata(at, latest(at, 'apps')));
        await offer(at, '1.2.0');
        await writeFile(metadata(at, latest(at, 'apps')), old);
      },
      code: UNTRUSTED,
      reason: /Unable to load targets: Expected (length|hash)/,
    },
    {
      name: 'a role of apps whose end has come',
      async make(at) {
        // The rest is signed today.
        await at.repository.forge((edition) => edition.edit('apps'), { now: Date.now() - 400 * DAY });
        await at.repository.forge((edition) => edition.edit('targets'));
      },
      code: UNTRUSTED,
      reason: /apps\.json ended on/,
    },
    {
      name: 'a set that nobody renewed for 30 days',
      make: (at) => at.repository.forge(() => undefined, { now: Date.now() - 30 * DAY }),
      code: UNTRUSTED,
      reason: /timestamp\.json ended on/,
    },
    {
      name: 'a whole repository of other keys',
      async make(at) {
        await using other = await UpdateRepository.create();
        await cp(other.folder, at.repository.folder, { recursive: true });
      },
      code: UNTRUSTED,
      reason: /./,
    },
    ...(
      [
        ['404', web.status(404), FAILED],
        ['500', web.status(500), FAILED],
        ['a web page', web.page, FAILED],
        ['no end', web.endless, FAILED],
        ['another byte', web.changed, /FAILED|UNTRUSTED/],
      ] as const
    ).map(([name, answer, code]) => ({
      name: `its role: ${name}`,
      make: (at: World) => at.server.answer([/\.apps\.json$/, answer]),
      code,
      reason: /./,
    })),
  ];
  for (const { name, make, code, reason } of LOOKS)
    test(`are not believed: ${name}`, async () => {
      await using at = await world();
      await make(at);
      await at.refuses(code, reason, false, () => at.packages());
    });

  const CLAIMS: readonly (readonly [name: string, forge: (edition: Edition) => void])[] = [
    [
      'a role of images names an app',
      withTarget('stable', (path) => path.replace('1.1.0', '6.6.6'), { version: '6.6.6' }),
    ],
    [
      'the role of apps names a plugin',
      withTarget('apps', () => 'plugins/chime/6.6.6/any.tgz', { id: 'chime', version: '6.6.6' }),
    ],
    [
      'the role of plugins names an app',
      withTarget('plugins', (path) => path.replace('1.1.0', '6.6.6'), { version: '6.6.6' }),
    ],
    ['a path with a folder more', withTarget('apps', (path) => path.replace('any', 'any/any'))],
    ['a path of another version', withTarget('apps', (path) => path.replace('1.1.0', '6.6.6'))],
    ['a path of another app', withTarget('apps', (path) => path.replace(ID, 'com.example.other'))],
    ['a path that leads elsewhere', withTarget('apps', () => 'apps/../1.1.0/any.app', { id: '..' })],
    ['a version that is none', withTarget('apps', (path) => path.replace('1.1.0', 'latest'), { version: 'latest' })],
    ['platforms that are none', withTarget('apps', (path) => path.replace('any', '..'), { platforms: ['..'] })],
    ['nothing that it says of itself', withTarget('apps', (path) => path.replace('1.1.0', '6.6.6'), { id: 7 })],
  ];
  for (const [name, forge] of CLAIMS)
    test(`are left out where ${name}`, async () => {
      await using at = await world();
      await at.repository.forge(forge);
      assert.deepEqual(names(await at.packages()), [`${ID} 1.0.0`, `${ID} 1.1.0`]);
      assert.deepEqual(await at.packages('plugin'), []);
      assert.equal(await at.version(), '1.1.0', 'images go on');
    });
});

suite('the file of a package', () => {
  const wanted = async (at: World): Promise<OfferedPackage> => (await at.packages()).at(-1)!;
  const fetch = async (at: World, one: OfferedPackage, from = 0) => {
    const to = join(at.state, 'package');
    await at.source().fetchPackage(one, to, { from, signal: new AbortController().signal });
    return readFileSync(to);
  };

  test('comes whole, and goes on where a connection broke off', async () => {
    await using at = await world();
    // More than a connection holds by itself.
    const { path } = await offer(at, '1.2.0', { 'noise.bin': randomBytes(1_500_000) });
    const one = await wanted(at);
    const file = join(
      at.repository.folder,
      'targets',
      path.replace(/[^/]+$/, (name) => `${one.sha256}.${name}`),
    );
    at.server.answer([/\.any\.app$/, web.cutOff]);
    await assert.rejects(fetch(at, one), { code: 'REPOSITORY_FAILED' });
    const half = statSync(join(at.state, 'package')).size;
    assert.ok(half > 0 && half < one.bytes);
    at.server.answer();
    const sent = at.server.sent;
    assert.deepEqual(await fetch(at, one, half), readFileSync(file));
    assert.ok(at.server.sent >= sent);
    at.server.asked.length = 0;
    assert.deepEqual(await fetch(at, one, one.bytes), readFileSync(file));
    assert.deepEqual(at.server.asked, [], 'what is whole is not asked for');
  });

  const FILES: readonly (readonly [name: string, answer: web.Answer, code: RegExp, reason: RegExp])[] = [
    ['another byte', web.changed, UNTRUSTED, /another content than its role says/],
    ['half of it', web.half, FAILED, /ended after \d+ of \d+ bytes/],
    ['more of it', (_, response, body) => void response.end(Buffer.concat([body!, body!])), FAILED, /more than \d+/],
    ['a length that is too long', web.longerSaid, FAILED, /more than \d+|broke off/],
    ['no end', web.endless, FAILED, /more than \d+ bytes/],
    ['404', web.status(404), FAILED, /it has no .* \(404\)/],
    ['500', web.status(500), FAILED, /it answers 500/],
    ['a web page', web.page, FAILED, /a web page/],
  ];
  for (const [name, answer, code, reason] of FILES)
    test(`is not taken: ${name}`, async () => {
      await using at = await world();
      const one = await wanted(at);
      at.server.answer([/\.any\.app$/, answer]);
      const error = await fetch(at, one).then(
        () => assert.fail('it was taken'),
        (thrown) => thrown,
      );
      assert.match(error.code, code, error.message);
      assert.match(error.message, reason);
      if (code === UNTRUSTED) assert.ok(!existsSync(join(at.state, 'package')), 'what is another one goes');
      assert.ok(at.server.sent < 16 << 20);
      at.server.answer();
      assert.equal((await fetch(at, one)).length, one.bytes);
    });

  test('that comes a byte now and then, or not at all, is given up', async () => {
    await using at = await world();
    const one = await wanted(at);
    at.answerMs = 300;
    for (const answer of [web.mute, web.silent, web.drops]) {
      at.server.answer([/\.any\.app$/, answer]);
      await assert.rejects(fetch(at, one), { code: 'REPOSITORY_FAILED', message: /too slow, or silent \(300 ms\)/ });
    }
  });

  test('is not cut off by the end of a look beside it', async () => {
    await using at = await world();
    const one = await wanted(at);
    const source = at.source();
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    at.server.answer([
      /\.any\.app$/,
      (request, response, body) => {
        response.writeHead(200, { 'content-length': body!.length });
        response.write(body!.subarray(0, 10), () => resolve());
        void held.promise.then(() => response.end(body!.subarray(10)));
        request.resume();
      },
    ]);
    const to = join(at.state, 'package');
    const fetched = source.fetchPackage(one, to, { from: 0, signal: new AbortController().signal });
    await promise;
    await source.newest('stable', new AbortController().signal);
    held.resolve();
    await fetched;
    assert.equal(statSync(to).size, one.bytes);
  });
});
