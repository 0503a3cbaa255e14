/** The table of attacks: whatever a server says, the device keeps what it knew, and says why it took nothing. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { newKey } from '../../../plugins/life/maker/keys/key-files.ts';
import { addImage, LIST_TARGET } from '../../../plugins/life/maker/repo/content.ts';
import type { TargetsSigned } from '../../../plugins/life/maker/repo/metadata.ts';
import { program as rotate } from '../../../plugins/life/maker/repo/rotate-key.ts';
import { CUT, MALFORMED } from '../../fixtures/malformed-answers.ts';
import { runProgram } from '../../fixtures/run-program.ts';
import * as web from '../../fixtures/update-server.ts';
import { ATTACKS } from './repository-attacks.ts';
import { DAY, FAILED, metadata, PLACE, SET, UNTRUSTED, world, worlds } from './repository-world.ts';

worlds();

suite('updates from a repository', () => {
  test('the newest version for this SKU and platform is offered with its sizes, and nothing is fetched twice', async () => {
    await using at = await world();
    const { repository, server } = at;
    await repository.offer({ version: '1.10.0' });
    await repository.offer({ version: '1.9.0' });
    await repository.offer({ version: '3.0.0', platform: { os: 'linux', arch: 'arm64', libc: 'glibc' } });
    await repository.offer({ version: '4.0.0', sku: 'gateway' });
    await repository.offer({ version: '5.0.0-rc.1' }, { channel: 'beta' });
    const source = at.source();
    const offer = await source.newest('stable', new AbortController().signal);
    assert.equal(JSON.parse(Buffer.from(offer!.list).toString()).version, '1.10.0');
    for (const [sha256, bytes] of offer!.compressed)
      assert.equal(readFileSync(join(repository.folder, 'blobs', `${sha256}.zst`)).length, bytes);
    assert.equal(offer!.compressed.size, 2);
    assert.ok(Math.abs(offer!.publishedAt! - Date.now()) < DAY);
    server.asked.length = 0;
    await source.newest('stable', new AbortController().signal);
    assert.deepEqual(server.asked, ['/metadata/2.root.json', '/metadata/timestamp.json']);
    assert.equal(await at.version('beta'), '5.0.0-rc.1');
    await assert.rejects(at.version('nightly'), {
      code: 'REPOSITORY_FAILED',
      message: /it has no channel nightly; it has stable, beta$/,
    });
    assert.equal(await at.version('apps'), undefined);
  });

  test('a rollout and a version that was called back are told', async () => {
    await using at = await world();
    const { folder } = await at.repository.image({ version: '1.2.0' });
    await at.repository.edit(async ({ repository, edition }) => {
      const wanted = { folder, channel: 'stable', publishedAt: 1_800_000_000, rollout: 5 };
      edition.edit('stable', (await addImage(repository, edition.role('stable'), wanted)).change);
    });
    const said = async () => {
      const { rollout, withdrawn, publishedAt } = (await at.source().newest('stable', new AbortController().signal))!;
      return { rollout, withdrawn, publishedAt };
    };
    assert.deepEqual(await said(), { rollout: 5, withdrawn: undefined, publishedAt: 1_800_000_000_000 });
    await at.repository.edit(({ edition }) =>
      edition.edit('stable', (role) => custom(role, '1.2.0', { withdrawn: 'it burns' })),
    );
    assert.deepEqual(await said(), { rollout: 5, withdrawn: 'it burns', publishedAt: 1_800_000_000_000 });
  });
});

function custom(role: TargetsSigned, version: string, more: object): TargetsSigned {
  const path = `${PLACE}/${version}/${LIST_TARGET}`;
  const entry = role.targets[path]!;
  return { ...role, targets: { ...role.targets, [path]: { ...entry, custom: { ...entry.custom, ...more } } } };
}

suite('attacks on a repository', () => {
  for (const { name, make, code, reason, healed = false, signed = false } of ATTACKS)
    test(name, async () => {
      await using at = await world();
      await make(at);
      if (code.test('none')) assert.equal(await at.version(), undefined);
      else await at.refuses(code, reason, signed);
      if (!healed) return;
      at.server.answer();
      assert.equal(await at.version(), '1.1.0');
    });

  test('an answer against the rules is a failed look, and what was known is what it was', async () => {
    await using at = await world();
    at.answerMs = 300;
    for (const { bytes } of [...MALFORMED, ...CUT]) {
      at.server.answer([/./, (_, response) => void response.socket?.end(bytes, 'latin1')]);
      await at.refuses(FAILED, /./);
    }
    at.server.answer();
    assert.equal(await at.version(), '1.1.0');
  });

  const FILES = ['2.root', 'timestamp', 'snapshot', 'targets', 'stable', 'image.json.zst', 'image.sig', 'blobs.json'];
  const DAYS: readonly (readonly [name: string, answer: web.Answer, code: RegExp, reason: RegExp])[] = [
    ['404', web.status(404), FAILED, /it has no .* \(404\)/],
    ['500', web.status(500), FAILED, /it answers 500/],
    ['511', web.status(511), FAILED, /it answers 511/],
    ['a web page', web.page, FAILED, /a web page: a proxy or the login page/],
    [
      'a web page that does not say so',
      web.untypedPage,
      /FAILED|UNTRUSTED/,
      /no metadata|ended after|another content|has \d+ bytes/,
    ],
    ['an end in the middle', web.cutOff, FAILED, /the connection broke off/],
    ['half of it', web.half, FAILED, /no metadata|ended after/],
    ['a length that is too long', web.longerSaid, FAILED, /the connection broke off|more than \d+/],
    ['another byte', web.changed, /FAILED|UNTRUSTED/, /./],
    ['no end', web.endless, FAILED, /more than \d+/],
    ['the folder instead', web.leadsTo(() => '/'), FAILED, /\(404\)/],
  ];
  for (const file of FILES)
    for (const [day, answer, code, reason] of DAYS) {
      // A root that is not there is the end of their list, and so is one that leads to nothing.
      if (file === '2.root' && /404|folder/.test(day)) continue;
      test(`${file}: ${day}`, async () => {
        await using at = await world();
        if (file === '2.root') await at.repository.edit(({ edition }) => edition.editRoot((root) => root));
        if (file === 'targets') await at.repository.edit(({ edition }) => edition.edit('targets'));
        const target = /^(image|blobs)/.test(file);
        at.server.answer([new RegExp(`${file.replaceAll('.', '\\.')}(\\.json)?$`), answer]);
        await at.refuses(code, reason, target);
        assert.ok(at.server.sent < 16 << 20);
        at.server.answer();
        assert.equal(await at.version(), '1.1.0');
      });
    }

  for (const [file, fails] of [
    ['timestamp', 'snapshot'],
    ['snapshot', 'targets'],
    ['snapshot', 'stable'],
  ] as const)
    test(`a valid ${file} before a look that fails is the floor of every later look: ${fails} fails`, async () => {
      await using at = await world();
      const old = join(at.repository.place, 'old');
      await cp(at.repository.folder, old, { recursive: true });
      await at.repository.offer({ version: '1.2.0' });
      if (fails === 'targets') await at.repository.edit(({ edition }) => edition.edit('targets'));
      at.server.answer([new RegExp(`\\d+\\.${fails}\\.json$`), web.status(500)]);
      await at.refuses(FAILED, /it answers 500/);
      at.server.answer();
      // A source that is opened anew, as after a restart, knows no more than the disk does.
      at.server.serve(old);
      await at.refuses(UNTRUSTED, /timestamp version \d+ is less than current version \d+/);
      await at.refuses(UNTRUSTED, /timestamp version \d+ is less than current version \d+/);
      at.server.serve(at.repository.folder);
      assert.equal(await at.version(), '1.2.0');
    });

  test('a valid timestamp is a floor on a device that has never had a look that was good', async () => {
    await using at = await world();
    await rm(join(at.state, 'known'), { recursive: true });
    const old = join(at.repository.place, 'old');
    await cp(at.repository.folder, old, { recursive: true });
    await at.repository.offer({ version: '1.2.0' });
    at.server.answer([/snapshot/, web.status(500)]);
    await at.refuses(FAILED, /it answers 500/, true);
    at.server.answer();
    at.server.serve(old);
    await at.refuses(UNTRUSTED, /timestamp version \d+ is less than current version \d+/);
    at.server.serve(at.repository.folder);
    assert.equal(await at.version(), '1.2.0');
  });

  for (const [name, answer] of [
    ['no answer', web.mute],
    ['headers and no more', web.silent],
    ['a byte now and then', web.drops],
  ] as const)
    test(`${name} is given up`, async () => {
      await using at = await world();
      at.answerMs = 300;
      at.server.answer([/timestamp/, answer]);
      await at.refuses(FAILED, /too slow, or silent \(300 ms\)/);
      at.answerMs = 60_000;
      at.server.answer();
      assert.equal(await at.version(), '1.1.0');
    });

  test('an unknown name, and a port without a listener', async () => {
    await using at = await world();
    const ask = (url: string) => at.source(url).newest('stable', new AbortController().signal);
    await assert.rejects(ask('http://updates.invalid/'), {
      code: 'REPOSITORY_FAILED',
      message: /its name is not known|no server of names/,
    });
    await assert.rejects(ask('http://127.0.0.1:1/'), { code: 'REPOSITORY_FAILED', message: /no program listens/ });
    await assert.rejects(ask('https://user:secret@127.0.0.1:1/'), (error: Error) => !error.message.includes('secret'));
  });
});

suite('time of a repository', () => {
  test('an expired file is named with the day on which it ended itself', async () => {
    await using at = await world();
    await at.repository.forge(() => undefined, { now: Date.now() - 30 * DAY });
    const { expires } = JSON.parse(readFileSync(metadata(at, 'timestamp.json'), 'utf8')).signed;
    await at.refuses(UNTRUSTED, new RegExp(`timestamp\\.json ended on ${expires.slice(0, 10)}`));
  });

  test('a root that has ended is named with its own day, before all other faults', async (t) => {
    await using at = await world();
    const { expires } = JSON.parse(readFileSync(metadata(at, '1.root.json'), 'utf8')).signed;
    t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2099, 0, 1) });
    at.time = { now: Date.now(), floor: 0, set: true };
    await at.refuses(UNTRUSTED, new RegExp(`root\\.json ended on ${expires.slice(0, 10)}`));
  });

  test('expiry counts from the floor, wherever the clock stands', async () => {
    await using at = await world();
    at.time = { now: 0, floor: Date.now() + 400 * DAY, set: false };
    await at.refuses(UNTRUSTED, /timestamp\.json ended on/);
  });

  test('a clock that was not set and that says that all has ended: the update waits, and nothing is an alarm', async () => {
    await using at = await world();
    at.time = { now: Date.now() + 400 * DAY, floor: Date.now() - DAY, set: false };
    const error = await at.refuses(/^UPDATE_REFUSED$/, /ended on .* if the clock is right, and it was not set/);
    assert.equal(error.details.rule, 'clock');
    at.time = { ...at.time, set: true };
    await at.refuses(UNTRUSTED, /ended on/);
    at.time = SET;
    assert.equal(await at.version(), '1.1.0');
  });

  test('an expiry that tuf-js reports waits, too, with a clock that was not set', async () => {
    await using at = await world();
    await at.repository.forge(() => undefined, { now: Date.now() - 30 * DAY });
    at.time = { now: Date.now(), floor: Date.now() - 60 * DAY, set: false };
    const error = await at.refuses(/^UPDATE_REFUSED$/, /timestamp\.json of the repository ended on/);
    assert.equal(error.details.rule, 'clock');
    at.time = { ...at.time, floor: Date.now() - 10 * DAY };
    await at.refuses(UNTRUSTED, /timestamp\.json ended on/);
  });

  test('a clock that stands in 1970 takes what the floor does not refuse', async () => {
    await using at = await world();
    at.time = { now: 0, floor: Date.now() - DAY, set: false };
    assert.equal(await at.version(), '1.1.0');
  });
});

suite('what a device knows of a repository', () => {
  test('keys are rotated by two of three, and a thief of the former ones is out, even when the look failed that met the root', async () => {
    await using at = await world();
    const stolen = join(at.repository.place, 'stolen');
    await cp(at.repository.folder, stolen, { recursive: true });
    for (const name of ['timestamp-new', 'snapshot-new']) await newKey({ folder: at.repository.keys, name });
    for (const role of ['timestamp', 'snapshot'])
      await runProgram(rotate, {
        repository: at.repository.folder,
        keys: at.repository.keys,
        role,
        former: role,
        next: `${role}-new`,
      });
    const before = at.known().filter(([name]) => name !== 'root.json');
    at.server.answer([/timestamp/, web.status(500)]);
    await assert.rejects(at.version(), { code: 'REPOSITORY_FAILED' });
    assert.deepEqual(
      at.known().filter(([name]) => name !== 'root.json'),
      before,
    );
    assert.match(at.known().find(([name]) => name === 'root.json')![1], /"version":3/);
    at.server.answer();
    at.server.serve(stolen);
    await at.refuses(UNTRUSTED, /timestamp was signed by 0\/1 keys/);
    at.server.serve(at.repository.folder);
    assert.equal(await at.version(), '1.1.0');
  });

  test('a loss of power at each step of keeping it leaves the known one, or the new one', async () => {
    await using at = await world();
    await at.version();
    const [known, next] = [join(at.state, 'known'), join(at.state, 'next')];
    // Taken away, and not yet in its place.
    await cp(known, next, { recursive: true });
    await rm(known, { recursive: true });
    assert.equal(await at.version(), '1.1.0');
    // In the middle of a look.
    await cp(known, next, { recursive: true });
    await writeFile(join(next, 'stable.json'), 'hal');
    assert.equal(await at.version(), '1.1.0');
    // The first look of all, which had not come to its root.
    await rm(known, { recursive: true });
    await cp(join(at.repository.folder, 'metadata', 'timestamp.json'), join(next, 'timestamp.json')).catch(
      () => undefined,
    );
    assert.equal(await at.version(), '1.1.0');
    // A disk that lost what was written.
    for (const name of readdirSync(known)) {
      await writeFile(join(known, name), '');
      assert.equal(await at.version(), '1.1.0', name);
    }
  });

  test('a newer root of a newer image counts, an older one does not', async () => {
    await using at = await world();
    for (let turn = 0; turn < 3; turn += 1) await at.repository.edit(({ edition }) => edition.editRoot((root) => root));
    const rootIs = () => JSON.parse(readFileSync(join(at.state, 'known', 'root.json'), 'utf8')).signed.version;
    at.root = metadata(at, '3.root.json');
    at.server.asked.length = 0;
    assert.equal(await at.version(), '1.1.0');
    assert.deepEqual(at.server.asked.slice(0, 2), ['/metadata/4.root.json', '/metadata/5.root.json']);
    assert.equal(rootIs(), 4);
    at.root = metadata(at, '1.root.json');
    assert.equal(await at.version(), '1.1.0');
    assert.equal(rootIs(), 4);
  });
});
