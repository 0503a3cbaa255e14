/** Orders at the wrong moment, a Core that ends in each state, leases, disks: nothing of it leaves an update half done or unexplained. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { UpdateState } from '@device-core/plugin-api/inside/services/updates';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { at, Device, FILES, KEY } from './device.ts';

after(leakCheck());

describe('orders to an update', () => {
  it('are one at a time', async () => {
    await using device = await at('verifying');
    assert.equal(
      await codeOf(device.run('install', { source: device.image({ version: '1.2.0' }) })),
      'UPDATE_CONFLICT',
    );
    assert.equal(await codeOf(device.run('download')), 'UPDATE_CONFLICT');
    assert.equal(await codeOf(device.run('rollback')), 'UPDATE_CONFLICT');
    // Once more the same changes nothing.
    assert.equal((await device.run('apply')).state, 'verifying');
    device.go();
    await device.restarts();
    assert.equal(device.slots.calls.filter((call) => call.startsWith('stage')).length, 1);
  });

  it('that come in the same turn are one update', async () => {
    await using device = await new Device().start();
    const source = device.image();
    const answers = await Promise.allSettled([device.run('install', { source }), device.run('install', { source })]);
    assert.ok(answers.some(({ status }) => status === 'fulfilled'));
    await device.restarts();
    assert.equal(device.slots.calls.filter((call) => call.startsWith('stage')).length, 1);
    assert.equal(device.slots.calls.filter((call) => call === 'restart').length, 1);
  });

  /** State -> after a hold, and after a hold that discards; a code is the refusal. */
  const HOLDS: readonly (readonly [Parameters<typeof at>[0], UpdateState, UpdateState | 'UPDATE_CONFLICT'])[] = [
    ['verifying', 'available', 'idle'],
    ['staged', 'staged', 'idle'],
    ['waiting', 'waiting', 'idle'],
    ['activating', 'activating', 'UPDATE_CONFLICT'],
    ['probation', 'probation', 'UPDATE_CONFLICT'],
    ['good', 'good', 'good'],
  ];
  for (const [point, held, discarded] of HOLDS)
    it(`to hold and to discard in ${point} lead to ${held} and ${discarded}`, async () => {
      for (const discard of [false, true]) {
        await using device = await at(point);
        const asked = device.run('hold', { reason: 'a fair', discard });
        asked.catch(() => undefined); // awaited below
        await turns(20);
        device.go();
        const wanted = discard ? discarded : held;
        if (wanted === 'UPDATE_CONFLICT') assert.equal(await codeOf(asked), wanted);
        else assert.equal((await asked).state, wanted);
        if (wanted === 'idle') assert.deepEqual(device.blobs, []);
        if (!discard) assert.equal((await device.run('why')).rule, 'held');
      }
    });

  it('to go on after a hold take up where it was', async () => {
    await using device = await at('staged');
    assert.equal((await device.run('why')).rule, 'held');
    assert.deepEqual((await device.run('resume')).ended, { reason: 'a fair' });
    assert.equal((await device.run('resume')).ended, undefined);
    await device.run('apply');
    await device.restarts();
  });

  it('for a refused image name the rule, and change nothing', async () => {
    const RULES: readonly (readonly [string, object, object, string])[] = [
      ['older', { version: '0.9.5' }, {}, 'downgrade'],
      ['blocked', {}, { blocked: ['1.1.0'] }, 'blocked'],
      ['too large', {}, { maxMB: 1 }, 'space'],
    ];
    for (const [what, over, config, rule] of RULES) {
      await using device = await new Device(config).start();
      const files =
        rule === 'space' ? { ...FILES, big: Buffer.alloc(3 << 20).map((_, index) => (index * 7_919) >> 5) } : FILES;
      const error = await device.run('install', { source: device.image(over, files) }).catch((thrown) => thrown);
      assert.equal(error instanceof CoreError && error.code, 'UPDATE_REFUSED', what);
      assert.equal(error.details.rule, rule);
      assert.equal((await device.run('why')).rule, rule);
      assert.deepEqual(
        device.slots.calls.filter((call) => call.startsWith('stage')),
        [],
      );
    }
  });

  it('downgrade by hand, down to the floor and no further', async () => {
    await using device = await new Device().start();
    await device.run('install', { source: device.image({ version: '0.9.5' }), downgrade: true });
    await device.restarts();
    await device.restart();
    await device.reaches('good');
    device.slots.record = { ...device.slots.record, floor: { ...device.slots.record.floor, version: '0.9.5' } };
    const error = await device
      .run('install', { source: device.image({ version: '0.9.4' }), downgrade: true })
      .catch((thrown) => thrown);
    assert.equal(error.details.rule, 'floor');
  });

  it('to install an image below the floor are refused with the remedy, as the helper would; a stranger stays one', async () => {
    await using device = await new Device({}, { keys: KEY.keys }).start();
    device.slots.record = { ...device.slots.record, floor: { time: 0, version: '1.0.0' } };
    const source = device.image({ version: '0.9.4' });
    const error = await device.run('install', { source, downgrade: true }).catch((thrown) => thrown);
    assert.deepEqual([error.code, error.details.rule], ['UPDATE_REFUSED', 'floor']);
    assert.match(error.message, /0\.9\.4 is below the floor 1\.0\.0, .*take 1\.0\.0 or a newer image/);
    appendFileSync(join(source, 'image.json'), ' ');
    assert.equal(await codeOf(device.run('install', { source, downgrade: true })), 'SIGNATURE_INVALID');
  });

  it('of an idle device say why nothing can come', async () => {
    await using device = await new Device().start();
    const { allowed, rule } = await device.run<{ allowed: boolean; rule?: string }>('why');
    assert.deepEqual([allowed, rule], [false, 'repository']);
  });

  it('skip versions', async () => {
    await using device = await new Device().start();
    await device.run('install', { source: device.image({ version: '3.0.0' }) });
    await device.restarts();
    await device.restart();
    assert.equal((await device.reaches('good')).version, '3.0.0');
  });
});

describe('an image that cannot be taken', () => {
  const BAD: readonly (readonly [string, (folder: string) => void, string])[] = [
    ['has no list', (folder) => rmSync(join(folder, 'image.json')), 'SYSTEM_IMAGE_INVALID'],
    ['has no signature', (folder) => rmSync(join(folder, 'image.sig')), 'SYSTEM_IMAGE_INVALID'],
    ['has a list that is none', (folder) => writeFileSync(join(folder, 'image.json'), '{}'), 'SYSTEM_IMAGE_INVALID'],
    ['is nowhere', (folder) => rmSync(folder, { recursive: true }), 'SYSTEM_IMAGE_INVALID'],
    ['was changed by a bit', (folder) => appendFileSync(join(folder, 'image.json'), ' '), 'SIGNATURE_INVALID'],
  ];
  for (const [what, spoil, code] of BAD)
    it(`since it ${what} is ${code}, and nothing changes`, async () => {
      await using device = await new Device({}, { keys: KEY.keys }).start();
      const source = device.image();
      spoil(source);
      assert.equal(await codeOf(device.run('install', { source })), code);
      assert.equal((await device.status()).state, 'idle');
      assert.deepEqual(device.blobs, []);
    });

  it('since a blob is missing or another one ends as failed, with the blob named', async () => {
    for (const spoil of ['absent', 'another']) {
      await using device = await new Device({ tries: 1 }).start();
      const source = device.image();
      const blob = join(source, 'blobs', readdirSync(join(source, 'blobs'))[0] ?? '');
      if (spoil === 'absent') rmSync(blob);
      else writeFileSync(blob, 'something else');
      await device.run('install', { source });
      const failed = await device.becomes('failed');
      assert.match(failed.reason ?? '', /[0-9a-f]{64}/);
      assert.equal(device.slots.record.slots.b.state, 'empty');
    }
  });

  it('is one that runs already', async () => {
    await using device = await at('good');
    const error = await device.run('install', { source: device.image() }).catch((thrown) => thrown);
    assert.deepEqual([error.code, error.details.rule], ['UPDATE_REFUSED', 'same']);
    assert.equal((await device.status()).state, 'good');
  });
});

describe('a Core that ends', () => {
  it('while it stages goes on, and stages again', async () => {
    await using device = await at('verifying');
    const ending = device.end();
    await turns(20);
    device.go();
    await ending;
    device.slots.gate = undefined;
    assert.equal(device.kept.update.state, 'verifying');
    device.slots.start('signal killed KILL');
    await device.start();
    await device.restarts();
    await device.restart();
    await device.reaches('good');
  });

  it('while it waits goes on waiting, and then goes on', async () => {
    await using device = await at('waiting');
    await device.restart('signal killed KILL');
    device.host?.publish('system.power', { source: 'mains', state: 'low' });
    assert.equal((await device.status()).state, 'waiting');
    device.host?.publish('system.power', { source: 'mains', state: 'ok' });
    await device.restarts();
  });

  it('before the slot was activated activates it', async () => {
    await using device = await at('staged');
    device.slots.failing.activate = new Error('the Core is gone');
    // As if it had been killed between the record and the helper.
    await device.end();
    const { update } = JSON.parse(readFileSync(join(device.folder, 'state.json'), 'utf8'));
    writeFileSync(
      join(device.folder, 'state.json'),
      JSON.stringify({ format: 1, update: { ...update, state: 'activating', flips: 1 } }),
    );
    delete device.slots.failing.activate;
    await device.start();
    await device.restarts();
    await device.restart();
    await device.becomes('probation');
  });

  it('in its probation begins it again, as the loader does, and is left after three starts', async () => {
    await using device = await at('probation');
    await device.clock.advance(5_000);
    await device.restart('signal killed SEGV');
    await device.becomes('probation');
    for (let starts = 2; device.slots.booted === 'b'; starts += 1) {
      assert.ok(starts <= 4, 'the loader leaves it');
      await device.restart('exit-code exited 1');
    }
    const back = await device.becomes('rolled-back');
    assert.equal((back.running as { slot: string }).slot, 'a');
    assert.equal((await device.run('why')).next, 'check');
    await eventually(() => {
      const lines = readFileSync(join(device.folder, 'history.jsonl'), 'utf8').trim().split('\n');
      return JSON.parse(lines.at(-1) ?? '').state === 'rolled-back';
    }, 'the line of the history');
  });

  it('in good keeps it, and says so when the loader goes back later', async () => {
    await using device = await at('good');
    await device.restart();
    assert.equal((await device.status()).state, 'good');
    const { slots } = device.slots.record;
    const reason = 'kernel/extra.js: the list does not name it';
    device.slots.record = {
      ...device.slots.record,
      primary: 'a',
      slots: { ...slots, b: { ...slots.b, state: 'bad', reason } },
    };
    await device.restart();
    assert.equal((await device.becomes('rolled-back')).reason, reason);
    await eventually(async () => {
      const { history } = await device.run<{ history: { reason?: string }[] }>('history', { limit: 1 });
      return history[0]?.reason === reason;
    }, 'the reason in the history');
  });

  it('and loses its record finds the slot on trial all the same', async () => {
    await using device = await at('probation');
    await device.end();
    rmSync(device.folder, { recursive: true });
    await device.start();
    await device.becomes('probation');
    await device.reaches('good');
  });

  it('and finds a record of a newer Core leaves it alone', async () => {
    await using device = await new Device().start();
    await device.end();
    mkdirSync(device.folder, { recursive: true });
    const text = JSON.stringify({ format: 2, what: 'the newer one knows' });
    writeFileSync(join(device.folder, 'state.json'), text);
    await device.start();
    await device.run('hold', { reason: 'a fair' });
    await device.end();
    assert.equal(readFileSync(join(device.folder, 'state.json'), 'utf8'), text);
  });

  it('keeps lines of the history that it does not know', async () => {
    await using device = await new Device().start();
    mkdirSync(device.folder, { recursive: true });
    const file = join(device.folder, 'history.jsonl');
    writeFileSync(file, `${JSON.stringify({ format: 9, at: 1, state: 'dreaming' })}\nhalf a li\n`);
    await device.run('install', { source: device.image() });
    await device.restarts();
    const { history } = await device.run<{ history: { state: string }[] }>('history');
    assert.ok(!history.some(({ state }) => state === 'dreaming'));
    assert.match(readFileSync(file, 'utf8'), /dreaming.*\nhalf a li\n/);
  });
});
