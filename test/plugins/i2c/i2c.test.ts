import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import { i2c } from '@device-core/plugin-api/services/i2c';
import { leakCheck } from '@device-core/plugin-api/testing';
import { APP, base64, eventually, startBuses } from '../../fixtures/bus-core.ts';

after(leakCheck());

const HANDLES = [
  { name: 'memory', endpoint: 'i2c0', address: 0x50 },
  { name: 'nobody', endpoint: 'i2c0', address: 0x33 },
  { name: 'lost', endpoint: 'i2c9', address: 0x50 },
];
const start = (grants?: readonly string[], config: object = {}) =>
  startBuses({ i2c: { version: '^1.0.0', config: { handles: HANDLES, ...config } } }, grants);

describe('i2c', () => {
  it('writes, reads, and reads after a repeated start', async () => {
    await using device = await start();
    assert.deepEqual(await device.call('i2c.transfer', { handle: 'memory', tx: base64(4, 1, 2, 3), rxLen: 0 }), {
      rx: '',
    });
    assert.deepEqual(await device.call('i2c.transfer', { handle: 'memory', tx: base64(4), rxLen: 3 }), {
      rx: base64(1, 2, 3),
    });
    assert.deepEqual(await device.call('i2c.transfer', { handle: 'memory', tx: base64(5), rxLen: 1 }), {
      rx: base64(2),
    });
    const service = device.core.service(i2c);
    const segments = [{ write: Uint8Array.of(4) }, { read: 1 }, { write: Uint8Array.of(6) }, { read: 1 }];
    assert.deepEqual([...(await service.transfer('memory', segments))], [1, 3]);
  });

  const REFUSED = [
    ['a handle that is not there', { handle: 'other', tx: '', rxLen: 1 }, 'HANDLE_NOT_FOUND', /I2C handle other/],
    ['a name that is none', { handle: '-', tx: '', rxLen: 1 }, 'INVALID_HANDLE', /I2C handle name/],
    ['nothing to do', { handle: 'memory', tx: '', rxLen: 0 }, 'PARAMS_INVALID', /nothing to transfer/],
    ['text that is not base64', { handle: 'memory', tx: 'a', rxLen: 0 }, 'PARAMS_INVALID', /base64/],
    ['too much to read', { handle: 'memory', tx: '', rxLen: 4_097 }, 'PARAMS_INVALID', /rxLen/],
    ['a component that does not answer', { handle: 'nobody', tx: base64(1), rxLen: 0 }, 'TRANSFER_FAILED', /NACK/],
    [
      'a bus that the bridge does not have',
      { handle: 'lost', tx: base64(1), rxLen: 0 },
      'TRANSFER_FAILED',
      /NO_ENDPOINT/,
    ],
  ] as const;
  it('refuses wrong requests, and names the fault', async () => {
    await using device = await start();
    for (const [what, params, code, message] of REFUSED) {
      const error = await device.refusal('i2c.transfer', params);
      assert.equal(error.code, code, what);
      assert.match(error.message, message, what);
    }
    assert.deepEqual((await device.health('i2c')).code, 'NO_ENDPOINT');
  });

  it('lets an app use the handles that it was granted', async () => {
    await using device = await start(['bridges.i2c:memory']);
    const transfer = (handle: string) => ({ handle, tx: base64(0), rxLen: 1 });
    await device.call('i2c.transfer', transfer('memory'), APP);
    const error = await device.refusal('i2c.transfer', transfer('nobody'), APP);
    assert.deepEqual([error.code, error.details.capability], ['CAPABILITY_DENIED', 'bridges.i2c:nobody']);
    const { handles } = await device.call<{ handles: { name: string }[] }>('i2c.handles', {}, APP);
    assert.deepEqual(
      handles.map(({ name }) => name),
      ['memory'],
    );
  });

  it('recovers a bus that is stuck once by itself, names it while it stays so, and heals', async () => {
    await using device = await startBuses({ i2c: { version: '^1.0.0', config: { handles: [HANDLES[0]] } } });
    const transfer = { handle: 'memory', tx: base64(0), rxLen: 1 };
    await device.sim.ask({ stick: { endpoint: 'i2c0', recoveries: 1 } });
    assert.match((await device.refusal('i2c.transfer', transfer)).message, /BUS_STUCK/);
    await device.call('i2c.transfer', transfer);
    await device.sim.ask({ stick: { endpoint: 'i2c0', recoveries: null } });
    assert.match((await device.refusal('i2c.transfer', transfer)).message, /BUS_STUCK/);
    assert.equal((await device.health('i2c')).code, 'BUS_STUCK');
    assert.match((await device.refusal('i2c.recover', { handle: 'memory' })).message, /BUS_STUCK/);
    await device.sim.ask({ stick: { endpoint: 'i2c0', recoveries: 0 } });
    await device.call('i2c.transfer', transfer);
    await eventually('its health', async () => (await device.health('i2c')).status === 'okay');
  });

  const SAFE = { ...HANDLES[0], name: 'safe', repeat: 'safe' };
  const REPEATED: readonly (readonly [what: string, params: object, clocked: number, outcome: string])[] = [
    ['a transfer', { handle: 'memory' }, 1, 'TRANSFER_FAILED BUS_STUCK unknown'],
    ['one whose caller says that it is safe', { handle: 'memory', repeat: 'safe' }, 2, 'done'],
    ['one of a handle that is safe', { handle: 'safe' }, 2, 'done'],
  ];
  it('repeats work only where its caller has said that it may', async () => {
    await using device = await startBuses({ i2c: { version: '^1.0.0', config: { handles: [HANDLES[0], SAFE] } } });
    const clocked = async () => (await device.sim.ask({ clocked: { endpoint: 'i2c0' } })).clocked as number;
    for (const [what, params, times, outcome] of REPEATED) {
      // The bytes go out, and then the bus sticks.
      await device.sim.ask({ stick: { endpoint: 'i2c0', recoveries: 1, later: true } });
      const before = await clocked();
      const answer = await device.call('i2c.transfer', { tx: base64(4, 1, 2), rxLen: 0, ...params }).then(
        () => 'done',
        ({ code, details }: CoreError) => `${code} ${details.status} ${details.executed}`,
      );
      assert.equal(answer, outcome, what);
      assert.equal((await clocked()) - before, times, what);
      await device.call('i2c.transfer', { handle: 'memory', tx: base64(4), rxLen: 1 });
    }
  });

  it('sets the speed of a bus, and names one that the bridge refuses', async () => {
    await using device = await startBuses({
      i2c: { version: '^1.0.0', config: { handles: [HANDLES[0]], speeds: { i2c0: 5_000_000 } } },
    });
    const told = await eventually('the refusal', async () => {
      const { status, message } = await device.health('i2c');
      return status === 'error' ? message : undefined;
    });
    assert.match(told, /BAD_SPEED/);
  });

  it('bounds what one app and one handle have in flight', async () => {
    await using device = await start(['bridges.i2c'], { inFlightPerHandle: 2, inFlightPerApp: 4 });
    await device.sim.ask({ slow: { endpoint: 'i2c0', ms: 20 } });
    const call = (handle: string) =>
      device.call('i2c.transfer', { handle, tx: base64(0), rxLen: 1 }, APP).then(
        () => 'done',
        (error) => error.code,
      );
    const outcomes = await Promise.all(['memory', 'memory', 'memory', 'nobody', 'nobody'].map(call));
    assert.deepEqual(outcomes, ['done', 'done', 'BUSY', 'TRANSFER_FAILED', 'BUSY']);
  });

  it('takes handles from plugins and gives them back', async () => {
    await using device = await start();
    const service = device.core.service(i2c);
    const own = service.register({ name: 'own', endpoint: 'i2c0', address: 0x50 }, 'plugin.test');
    assert.equal((await service.transfer('own', [{ write: Uint8Array.of(0) }, { read: 2 }])).length, 2);
    await assert.rejects(
      async () => void (await service.register({ name: 'own', endpoint: 'i2c0', address: 1 }, 'plugin.other')),
      {
        code: 'HANDLE_ALREADY_REGISTERED',
      },
    );
    await assert.rejects(
      async () => void (await service.register({ name: 'far', endpoint: 'i2c0', address: 0x80 }, 'plugin.other')),
      {
        code: 'PARAMS_INVALID',
      },
    );
    await own[Symbol.asyncDispose]();
    await assert.rejects(service.transfer('own', [{ read: 1 }]), { code: 'HANDLE_NOT_FOUND' });
  });
});
