import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { spi } from '@device-core/plugin-api/services/spi';

import { app, codeOf, OPERATOR } from '../../fixtures/operation-calls.ts';
import { start } from './start.ts';

const good = { name: 'probe', endpoint: 'spi0', cs: 0, speed: 1_000_000, mode: 0 };

suite('SPI handles', () => {
  test('a handle that is not valid is refused with the code of the specification', async () => {
    const cases: [string, object, string][] = [
      ['an empty name', { name: '' }, 'INVALID_HANDLE'],
      ['a dot in the name', { name: 'a.b' }, 'INVALID_HANDLE'],
      ['a colon in the name', { name: 'a:b' }, 'INVALID_HANDLE'],
      ['a slash in the name', { name: 'a/b' }, 'INVALID_HANDLE'],
      ['a dash first', { name: '-a' }, 'INVALID_HANDLE'],
      ['a line break at the end', { name: 'a\n' }, 'INVALID_HANDLE'],
      ['61 characters', { name: 'a'.repeat(61) }, 'INVALID_HANDLE'],
      ['60 characters', { name: 'a'.repeat(60) }, 'no error'],
      ['an umlaut', { name: 'prüfer' }, 'INVALID_HANDLE'],
      ['no speed', { speed: 0 }, 'INVALID_SPEED'],
      ['a negative speed', { speed: -1 }, 'INVALID_SPEED'],
      ['a fraction of a hertz', { speed: 0.5 }, 'INVALID_SPEED'],
      ['no number', { speed: Number.NaN }, 'INVALID_SPEED'],
      ['mode 4', { mode: 4 }, 'INVALID_MODE'],
      ['mode -1', { mode: -1 }, 'INVALID_MODE'],
      ['mode 1.5', { mode: 1.5 }, 'INVALID_MODE'],
      ['a name in use', { name: 'flash' }, 'HANDLE_ALREADY_REGISTERED'],
      ['another case of a name in use', { name: 'Flash' }, 'no error'],
    ];
    await using started = await start();
    const service = started.host.service(spi);
    for (const [name, change, code] of cases) {
      const work = async () => service.register({ ...good, ...change }, 'plugin.test');
      assert.equal(await codeOf(work()), code, name);
    }
  });

  test('a handle is there until its registration is disposed, and its name is free again then', async () => {
    await using started = await start();
    const service = started.host.service(spi);
    const registration = service.register(good, 'plugin.nfc');
    const found = (await service.handles()).find((handle) => handle.name === 'probe');
    assert.deepEqual(found, { ...good, owner: 'plugin.nfc', transfers: 0, errors: 0, inFlight: 0 });
    await registration[Symbol.asyncDispose]();
    assert.equal(await codeOf(service.transfer('probe', new Uint8Array(1), 1)), 'HANDLE_NOT_FOUND');
    const second = service.register(good, 'plugin.other');
    await registration[Symbol.asyncDispose]();
    assert.equal((await service.handles()).at(-1)?.owner, 'plugin.other');
    await second[Symbol.asyncDispose]();
  });

  test('an app sees the handles that it may use, the operator all, with their counters', async () => {
    await using started = await start({
      grants: { 'app.com.a': ['bridges.spi:flash'], 'app.com.b': ['bridges.spi'], 'app.com.c': ['network'] },
    });
    const names = async (caller: Caller) =>
      ((await started.table.run('spi.handles', {}, { caller })).handles as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(await names(app('com.a')), ['flash']);
    assert.deepEqual(await names(app('com.b')), ['flash', 'slow', 'patient']);
    assert.deepEqual(await names(app('com.c')), []);
    assert.deepEqual(await names(OPERATOR), ['flash', 'slow', 'patient']);
  });

  test('a SKU that names a handle twice has the first, and health says which is left out', async () => {
    await using started = await start({ config: { handles: [good, { ...good, cs: 1 }, { ...good, name: 'other' }] } });
    const handles = await started.host.service(spi).handles();
    assert.deepEqual(
      handles.map(({ name, cs }) => [name, cs]),
      [
        ['probe', 0],
        ['other', 0],
      ],
    );
    const { status, message } = await started.health();
    assert.equal(status, 'error');
    assert.match(
      message ?? '',
      /handle 1 of the configuration is left out: SPI handle probe is already registered by sku/,
    );
  });

  test('health says what the handles wait for, and which of them have no endpoint', async () => {
    await using started = await start({ withBridge: false });
    assert.equal((await started.health()).status, 'waiting');
    await started.host.appear(endpoints, started.bridge as never);
    assert.equal((await started.health()).status, 'okay');
    started.bridge.down('the link to the IO bridge is down (no answer)');
    assert.match((await started.health()).message ?? '', /is down \(no answer\)/);
    started.bridge.up('spi0');
    await started.host.settle();
    assert.deepEqual(await started.health().then(({ status, message }) => [status, message]), [
      'error',
      'neither bridge nor host has an endpoint for slow (spi1), patient (spi1)',
    ]);
    await started.host.disappear(endpoints);
    assert.equal((await started.health()).status, 'waiting');
  });
});
