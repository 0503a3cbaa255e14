/** The updater and a repository of the network, together. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { addImage } from '../../../plugins/life/maker/repo/content.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { UpdateRepository } from '../../fixtures/update-repository.ts';
import { status, UpdateServer } from '../../fixtures/update-server.ts';
import { Device } from './device.ts';

const leaks = leakCheck();
let repository: UpdateRepository;
let server: UpdateServer;

before(async () => {
  repository = await UpdateRepository.create();
  server = await UpdateServer.open(repository.folder);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await repository[Symbol.asyncDispose]();
  await leaks();
});

async function offered(device: Device): Promise<void> {
  const folder = device.image();
  await repository.edit(async ({ repository: to, edition, now }) => {
    const wanted = { folder, channel: 'stable', publishedAt: Math.floor(now / 1000) };
    edition.edit('stable', (await addImage(to, edition.role('stable'), wanted)).change);
  });
}

describe('an update from a repository', () => {
  it('a file that does not come is told with its tries, the moment of the next and the reason, until bytes come', async () => {
    await using device = new Device({ url: server.url, root: repository.root, automatic: 'check' });
    await offered(device);
    await device.start();
    await device.run('check');
    server.answer([/blobs\//, status(500)]);
    await device.run('apply');
    interface Retry {
      readonly failed: number;
      readonly of: number;
      readonly at: number;
      readonly reason: string;
    }
    const told = (nth: number) =>
      eventually(async () => {
        const { retry, reason = '' } = (await device.status()) as { retry?: Retry; reason?: string };
        return retry?.failed === nth && { ...retry, text: reason };
      }, `try ${nth}`);
    const first = await told(1);
    assert.match(first.reason, /answers 500/);
    assert.deepEqual([first.of, first.at], [8, device.clock.now() + 2_000]);
    assert.match(first.text, /answers 500.*; try 1 of 8 failed, the next is at 2026-01-01T00:0/);
    await device.clock.advance(2_000);
    assert.equal((await told(2)).at, device.clock.now() + 4_000);
    server.answer();
    await device.clock.advance(4_000);
    await device.restarts();
    assert.equal((await device.status()).retry, undefined);
  });

  it('of a channel that is not there fails with the channels that are', async () => {
    await using device = new Device({ url: server.url, root: repository.root, channel: 'nightly' });
    await device.start();
    await assert.rejects(device.run('check'), {
      code: 'REPOSITORY_FAILED',
      message: /it has no channel nightly; it has .*stable.*beta|it has no channel nightly; it has .*beta.*stable/,
    });
    await assert.rejects(device.run('check', { channel: 'no' }), { code: 'REPOSITORY_FAILED' });
  });

  it('that was taken back is tried again by apply alone', async () => {
    await using device = new Device({ url: server.url, root: repository.root, automatic: 'check' });
    await offered(device);
    await device.start();
    await device.run('check');
    await device.run('apply');
    await device.restarts();
    await device.restart();
    await device.becomes('probation');
    const going = device.run('rollback', { reason: 'slow' });
    await device.restarts();
    await going;
    await device.restart();
    await device.becomes('rolled-back');
    await device.run('apply');
    await device.restarts();
    await device.restart();
    assert.equal((await device.reaches('good')).version, '1.1.0');
  });

  it('apply without anything to take says what it found', async () => {
    await using device = new Device({ url: server.url, root: repository.root, automatic: 'check' });
    device.slots.record = {
      ...device.slots.record,
      slots: { ...device.slots.record.slots, a: { ...device.slots.record.slots.a, version: '9.0.0' } },
    };
    await offered(device);
    await device.start();
    await assert.rejects(device.run('apply'), { code: 'UPDATE_CONFLICT', message: /older than 9\.0\.0/ });
    await using alone = new Device({});
    await alone.start();
    await assert.rejects(alone.run('apply'), { code: 'UPDATE_CONFLICT', message: /idle \(devicectl update install/ });
  });

  it('is found, fetched blob by blob, staged, started and found good', async () => {
    await using device = new Device({ url: server.url, root: repository.root, automatic: 'check' });
    await offered(device);
    await device.start();
    await device.run('check');
    const found = await device.becomes('available');
    assert.equal(found.version, '1.1.0');
    server.asked.length = 0;
    await device.run('apply');
    await device.restarts();
    assert.ok(server.asked.every((path) => path.startsWith('/blobs/')));
    assert.equal(server.asked.length, new Set(server.asked).size);
    await device.restart();
    assert.equal((await device.reaches('good')).version, '1.1.0');
    // A look that fails afterwards is not booked on it.
    server.answer([/./, status(500)]);
    assert.equal(await codeOf(device.run('check')), 'REPOSITORY_FAILED');
    server.answer();
    const seen = await device.status();
    assert.deepEqual([seen.state, seen.version, seen.reason], ['good', '1.1.0', undefined]);
    const { history } = await device.run<{ history: { at: number; reason?: string }[] }>('history', { limit: 2 });
    const [failed, checking] = history;
    assert.match(failed?.reason ?? '', /answers 500/);
    assert.deepEqual({ ...failed, at: 0, reason: '' }, { at: 0, state: 'failed', reason: '', by: 'operator' });
    assert.deepEqual({ ...checking, at: 0 }, { at: 0, state: 'checking', by: 'operator' });
  });

  it('that cannot be reached is no alarm, one that cannot be trusted is, and a blob that is another one is not taken', async () => {
    await using device = new Device({ url: server.url, root: repository.root, automatic: 'check', tries: 1 });
    await offered(device);
    await device.start();
    server.answer([/./, status(500)]);
    assert.equal(await codeOf(device.run('check')), 'REPOSITORY_FAILED');
    const seen = await device.status();
    assert.equal(seen.state, 'idle');
    assert.match(seen.reason ?? '', /cannot read the repository .* answers 500/);
    const stranger = 'a'.repeat(128);
    server.answer([
      /timestamp/,
      (_, response, body) => void response.end(body!.toString().replace(/"sig":"[0-9a-f]+"/, `"sig":"${stranger}"`)),
    ]);
    assert.equal(await codeOf(device.run('check')), 'REPOSITORY_UNTRUSTED');
    assert.match((await device.becomes('idle')).reason ?? '', /cannot trust the repository .* signed by 0\/1 keys/);
    server.answer([/\/blobs\//, (_, response) => void response.writeHead(200).end('something else')]);
    await device.run('check');
    await device.becomes('available');
    await device.run('download');
    assert.match((await device.becomes('failed')).reason ?? '', /cannot trust the repository .* holds something else/);
    assert.deepEqual(
      device.blobs.filter((name) => name.endsWith('.zst')),
      [],
    );
    server.answer();
    await device.run('check');
    await device.becomes('available');
    await device.run('download');
    await device.becomes('staged');
  });
});
