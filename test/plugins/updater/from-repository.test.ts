/** The updater and a repository of the network, together. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { addImage } from '../../../plugins/life/maker/repo/content.ts';
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
