/** The warden hands the data of an app to the Core until its next start, and loses nothing of them. Without a systemd. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs, { chmodSync, chownSync, linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { after, describe, mock, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { WardenDevice } from '../fixtures/warden-device.ts';

after(leakCheck());

const WITHOUT_ROOT = process.getuid?.() === 0 ? false : 'files are given away by root alone';
const [CORE, APP, STRANGER] = [900, 40_001, 12];
const ID = 'com.example.agenda';
const RELEASE = { verb: 'release', id: ID };
const START = { verb: 'start', name: 'app-agenda' };

/** A device whose app has run: its data are its own. */
async function ran(): Promise<{ readonly device: WardenDevice; readonly data: string } & AsyncDisposable> {
  const device = new WardenDevice(CORE);
  const spec = device.spec();
  const { data = '', cache = '' } = spec;
  mkdirSync(join(data, 'deep/er'), { recursive: true });
  for (const path of ['note', 'deep/one', 'deep/er/two']) writeFileSync(join(data, path), 'x', { mode: 0o600 });
  for (const path of [
    cache,
    data,
    ...['note', 'deep', 'deep/one', 'deep/er', 'deep/er/two'].map((it) => join(data, it)),
  ])
    chownSync(path, APP, APP);
  chmodSync(data, 0o700);
  assert.deepEqual(await device.ask({ verb: 'put', spec }), { ok: true });
  return { device, data, [Symbol.asyncDispose]: () => device[Symbol.asyncDispose]() };
}

/** Users of all that lies there. */
const ownersOf = (folder: string): readonly number[] => {
  const { stdout } = spawnSync('find', [folder, '-printf', '%U\n'], { encoding: 'utf8' });
  return [...new Set(stdout.trim().split('\n').map(Number))].sort((one, other) => one - other);
};

describe('the data of an app', { skip: WITHOUT_ROOT }, () => {
  test("become the Core's with all that is in them, and the app's again when it starts; modes stay", async () => {
    await using box = await ran();
    const { device, data } = box;
    chmodSync(join(data, 'deep/one'), 0);
    assert.deepEqual(await device.ask(RELEASE), { ok: true });
    assert.deepEqual(ownersOf(data), [CORE]);
    assert.deepEqual(await device.ask(RELEASE), { ok: true }, 'once more');
    assert.equal(statSync(join(data, 'deep/one')).mode & 0o7777, 0);
    assert.equal(statSync(data).mode & 0o7777, 0o700);
    // What a Core writes meanwhile is the app's, too.
    writeFileSync(join(data, 'new'), 'x');
    chownSync(join(data, 'new'), CORE, CORE);
    assert.deepEqual(await device.ask(START), { ok: true });
    assert.deepEqual(ownersOf(data), [APP]);
    assert.equal(statSync(data).mode & 0o7777, 0o700);
  });

  test("are released as far as they are the app's alone: nothing of others changes hands, and the app starts as before", async () => {
    await using box = await ran();
    const { device, data } = box;
    const outside = join(device.root, 'outside');
    writeFileSync(outside, 'x');
    writeFileSync(join(data, 'strange'), 'x');
    for (const path of [outside, join(data, 'strange')]) chownSync(path, STRANGER, STRANGER);
    linkSync(outside, join(data, 'second'));
    linkSync(join(data, 'note'), join(data, 'twice'));
    symlinkSync(outside, join(data, 'link'));
    mkdirSync(join(data, 'closed'), { mode: 0 });
    chownSync(join(data, 'closed'), APP, APP);
    const kept = () => ['strange', 'second', 'twice', 'closed'].map((path) => statSync(join(data, path)).uid);
    assert.deepEqual(await device.ask(RELEASE), { ok: true });
    assert.deepEqual(kept(), [STRANGER, STRANGER, APP, APP]);
    assert.equal(statSync(outside).uid, STRANGER);
    assert.equal(statSync(join(data, 'deep/er/two')).uid, CORE);
    assert.deepEqual(await device.ask(START), { ok: true });
    assert.deepEqual(kept(), [STRANGER, STRANGER, APP, APP]);
    for (const path of ['', 'note', 'deep', 'deep/er/two']) assert.equal(statSync(join(data, path)).uid, APP, path);
    assert.equal(statSync(join(data, 'closed')).mode & 0o777, 0);
  });

  const REFUSED: readonly [what: string, id: unknown, reason: RegExp, trick?: (data: string, root: string) => void][] =
    [
      ['of a path', '../../etc', /there is no app "\.\.\/\.\.\/etc"/],
      ['of a folder above', '..', /there is no app/],
      ['of two names', 'a/b', /there is no app/],
      ['of no name', '', /there is no app/],
      ['of nothing', undefined, /there is no app/],
      ['of an object', { id: ID }, /there is no app/],
      ['of an app that is not there', 'com.example.none', /ENOENT/],
      [
        'of a link in place of the data',
        ID,
        /leads through a link, data/,
        (data, root) => {
          rmSync(data, { recursive: true });
          symlinkSync(join(root, 'secret'), data);
        },
      ],
      [
        'of a link in place of the app',
        ID,
        /leads through a link, com\.example\.agenda/,
        (data, root) => {
          rmSync(join(data, '..'), { recursive: true });
          mkdirSync(join(root, 'secret/data'));
          chownSync(join(root, 'secret/data'), APP, APP);
          symlinkSync(join(root, 'secret'), join(data, '..'));
        },
      ],
      [
        'of a file in place of the data',
        ID,
        /is no folder/,
        (data) => {
          rmSync(data, { recursive: true });
          writeFileSync(data, '');
        },
      ],
    ];
  for (const [what, id, reason, trick] of REFUSED)
    test(`${what} are not released`, async () => {
      await using box = await ran();
      const { device, data } = box;
      const secret = join(device.root, 'secret');
      mkdirSync(secret);
      writeFileSync(join(secret, 'file'), 'x');
      for (const path of [secret, join(secret, 'file')]) chownSync(path, APP, APP);
      trick?.(data, device.root);
      const answer = await device.ask({ verb: 'release', id });
      assert.match(String(answer.refused ?? answer.failed), reason);
      assert.deepEqual(ownersOf(secret), [APP]);
      assert.ok(!ownersOf(device.config.state).includes(CORE));
    });

  test("that are too deep are refused, and are the app's again at its next start", async () => {
    await using box = await ran();
    const { device, data } = box;
    let deep = data;
    for (let at = 0; at < 130; at++) {
      deep = join(deep, 'd');
      mkdirSync(deep);
      chownSync(deep, APP, APP);
    }
    assert.match(String((await device.ask(RELEASE)).refused), /too deep/);
    assert.deepEqual(await device.ask(START), { ok: true });
    assert.deepEqual(ownersOf(data), [APP]);
  });

  for (const [verb, first] of [
    ['release', undefined],
    ['start', RELEASE],
  ] as const)
    test(`are whole after a ${verb} that was cut off at any change of hands`, async () => {
      const real = fs.chownSync;
      for (let cut = 0, over = false; !over; cut++) {
        await using box = await ran();
        const { device, data } = box;
        if (first) assert.deepEqual(await device.ask(first), { ok: true });
        let left = cut;
        mock.method(fs, 'chownSync', (...of: Parameters<typeof real>) => {
          // Nothing behind it undoes anything: what lies there then is what a kill leaves.
          if (left-- <= 0) throw new Error('cut off');
          real(...of);
        });
        syncBuiltinESMExports();
        const answer = await device.ask(verb === 'release' ? RELEASE : START);
        mock.restoreAll();
        syncBuiltinESMExports();
        over = answer.failed === undefined;
        // Half of the time somebody asks for the data again before the app starts.
        if (cut % 2 === 0) assert.deepEqual(await device.ask(RELEASE), { ok: true });
        if (cut % 2 === 0) assert.deepEqual(ownersOf(data), [CORE]);
        assert.deepEqual(await device.ask(START), { ok: true });
        assert.deepEqual(ownersOf(data), [APP], `cut off at ${cut}`);
        assert.ok(cut > 8 || !over, 'it was cut off in the middle, too');
      }
    });
});
