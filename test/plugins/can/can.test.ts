import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { can } from '@device-core/plugin-api/services/can';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { frameBody, frameIn, matches } from '../../../plugins/hardware/can/messages.ts';
import { APP, base64, eventually, startBuses } from '../../fixtures/bus-core.ts';
import { runs } from '../../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

after(leakCheck());

const HANDLES = [
  { name: 'all', endpoint: 'can0', nominal: 500_000, data: 2_000_000 },
  { name: 'answers', endpoint: 'can0', nominal: 500_000, data: 2_000_000, filters: [{ id: 0x7e8, mask: 0x7f8 }] },
];
const start = (handles: readonly object[] = HANDLES, grants?: readonly string[]) =>
  startBuses({ can: { version: '^1.0.0', config: { handles } } }, grants);

describe('can', () => {
  it('gives an app what a handle receives, a line of JSON each', async () => {
    await using device = await start();
    const stream = await device.open('can.receive', { handle: 'all' });
    const line = await eventually('the frame', async () => {
      // Once is not enough: what comes before the controller has been configured is nobody's.
      await device.sim.ask({ can: { endpoint: 'can0', id: 0x8000_0123, data: [1, 2, 3] } });
      return stream.chunks.map((chunk) => JSON.parse(Buffer.from(chunk).toString())).find(({ extended }) => extended);
    });
    assert.deepEqual([line.id, line.data, line.rtr, line.fd, line.lost], [0x123, base64(1, 2, 3), false, false, 0]);
    stream.stop();
    await stream.ended;
  });

  it('lets a frame through to the Core only for a listener, and tells the state of the bus always', async () => {
    await using device = await start();
    const filters = async () => {
      const { settings } = await device.sim.ask({ settings: { endpoint: 'can0' } });
      return (settings as { filters: { id: number; mask: number }[] }).filters;
    };
    const become = (what: string, open: boolean) =>
      eventually(what, async () => {
        const all = await filters();
        return all.length > 0 && all.some(({ mask }) => mask === 0) === open ? true : undefined;
      });
    await become('filters that nothing passes', false);
    await device.sim.ask({ can: { endpoint: 'can0', id: 0x123, data: [1] } });
    const heard: number[] = [];
    const first = device.core.service(can).onFrame('all', ({ data }) => void heard.push(data[0]!));
    const second = device.core.service(can).onFrame('answers', () => undefined);
    await become('filters that everything passes', true);
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    using again = device.core.service(can).onFrame('all', ({ data }) => void heard.push(data[0]!));
    await eventually('the frame', async () => {
      await device.sim.ask({ can: { endpoint: 'can0', id: 0x123, data: [2] } });
      return heard.includes(2) ? true : undefined;
    });
    assert.ok(!heard.includes(1), 'nobody heard it when it came');
    second[Symbol.dispose]();
    again[Symbol.dispose]();
    await become('filters that nothing passes again', false);
    await device.sim.ask({ short: { endpoint: 'can0', broken: true } });
    await device.refusal('can.send', { handle: 'all', id: 1 });
    await eventually('its state', async () => ((await device.health('can')).code === 'BUS_OFF' ? true : undefined));
  });

  it('sends CAN FD where the bus has a data rate', async () => {
    await using device = await start();
    await device.call('can.send', { handle: 'all', id: 1, fd: true, data: Buffer.alloc(64, 7).toString('base64') });
    await using classic = await start([{ name: 'all', endpoint: 'can0', nominal: 500_000 }]);
    const error = await classic.refusal('can.send', { handle: 'all', id: 1, fd: true, data: base64(1) });
    assert.match(error.message, /BAD_MODE/);
  });

  it('refuses wrong requests, and names the fault', async () => {
    await using device = await start(HANDLES, ['bridges.can:answers']);
    const REFUSED = [
      [{ handle: 'all', id: 0x800 }, 'PARAMS_INVALID', /11 bits/],
      [{ handle: 'all', id: 1, data: Buffer.alloc(9).toString('base64') }, 'PARAMS_INVALID', /cannot have 9 bytes/],
      [
        { handle: 'all', id: 1, fd: true, data: Buffer.alloc(13).toString('base64') },
        'PARAMS_INVALID',
        /cannot have 13 bytes/,
      ],
      [{ handle: 'all', id: 1, rtr: true, data: base64(1) }, 'PARAMS_INVALID', /remote/],
      [{ handle: 'none', id: 1 }, 'HANDLE_NOT_FOUND', /CAN handle none/],
    ] as const;
    for (const [params, code, message] of REFUSED) {
      const error = await device.refusal('can.send', params);
      assert.equal(error.code, code);
      assert.match(error.message, message);
    }
    assert.equal((await device.refusal('can.send', { handle: 'all', id: 1 }, APP)).code, 'CAPABILITY_DENIED');
    const other = { name: 'slow', endpoint: 'can0', nominal: 125_000 };
    await assert.rejects(
      async () => void (await device.core.service(can).register(other, 'plugin.test')),
      /all has can0 at other bit rates/,
    );
  });
});

describe('frames', () => {
  const FRAME = fc
    .record({ extended: fc.boolean(), rtr: fc.boolean(), fd: fc.boolean(), data: fc.uint8Array({ maxLength: 8 }) })
    .chain((one) =>
      fc.nat(one.extended ? 0x1fff_ffff : 0x7ff).map((id) => ({
        ...one,
        id,
        fd: one.fd && !one.rtr,
        data: one.rtr ? new Uint8Array(0) : one.data,
      })),
    );

  it('come back from their bytes as they went in', () => {
    fc.assert(
      fc.property(FRAME, (frame) => {
        const times = { at: 5, atUs: 5_001, timestampUs: 77 };
        assert.deepEqual(frameIn({ op: 0x80, ...times, lost: 2, data: new Uint8Array(frameBody(frame)) }), {
          ...frame,
          data: new Uint8Array(frame.data),
          ...times,
          lost: 2,
        });
        assert.ok(matches(frame, [{ id: frame.id, mask: 0x1fff_ffff, extended: frame.extended }]));
        assert.ok(!matches(frame, [{ id: frame.id, mask: 0x1fff_ffff, extended: !frame.extended }]));
      }),
    );
  });
});
