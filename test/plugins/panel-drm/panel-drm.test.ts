import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Clock } from '@device-core/plugin-api';
import { DrivenPanel } from '@device-core/plugin-api/panel-driver';
import { PIXEL_BYTES, type PixelFormat, panel } from '@device-core/plugin-api/services/panel';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { choose } from '../../../plugins/display/panel-drm/choice.ts';
import { plugin } from '../../../plugins/display/panel-drm/index.ts';
import { Screen } from '../../../plugins/display/panel-drm/screen.ts';
import { clips, flipsOf } from '../../../plugins/display/panel-drm/structs.ts';
import { LOOKS, painted, panelContract, whole } from '../../contracts/panel.ts';
import { CONNECTOR, CONSOLE, CRTC, FakeCard } from '../../fixtures/drm-card.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { healthOf } from '../../fixtures/native.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';

const MANIFEST = new URL('../../../manifests/plugins/display/panel-drm.yaml', import.meta.url).pathname;
const SMALL = { width: 24, height: 16, format: 'xrgb8888' } as const;
const FLIP_MS = 1_000;

async function opened(card: FakeCard, clock?: Clock) {
  const { scope, log, logged, ...rest } = part(clock);
  const open = () => Screen.open({ scope, card: card.card(), light: undefined, format: card.format, flipMs: FLIP_MS });
  const driven = await DrivenPanel.start({ scope, log, name: 'card0', open, limitMs: 2 * FLIP_MS });
  return {
    panel: driven,
    logged,
    /** A whole frame of this look. */
    frame: (seed: number) => {
      const rect = whole(card);
      return { seq: seed, rects: [rect], pixels: painted(rect, card.format, seed) };
    },
    async [Symbol.asyncDispose]() {
      await rest[Symbol.asyncDispose]();
      assert.equal(card.open, 0, 'the card was left open');
      assert.equal(card.buffers.size, 0, 'a buffer was left');
    },
  };
}

describe('panel-drm', () => {
  after(leakCheck());

  for (const [device, reason] of [
    ['/dev/dri/card97', /ENOENT/],
    ['/dev/null', /it cannot be taken \(ENOTTY\)/],
  ] as const)
    it(`starts with ${device}, names the fault, and is asked in vain`, async () => {
      await using host = await createTestHost(plugin, { manifest: MANIFEST, config: { device } });
      const service = host.service(panel);
      await assert.rejects(service.info(), { code: 'PANEL_UNAVAILABLE', message: reason });
      const health = await eventually(() => healthOf(host, 'panel-drm'), 'its health');
      assert.deepEqual([health.status, health.code], ['waiting', 'PANEL_UNAVAILABLE']);
    });

  for (const look of LOOKS)
    describe(`a display of ${look.width} x ${look.height} in ${look.format}, with gaps between its rows`, () => {
      panelContract(look, async () => {
        const card = new FakeCard(look, 36);
        const at = await opened(card);
        return {
          panel: at.panel,
          seen: async () => card.seen(),
          unplug: async () => {
            card.connected = false;
            card.fails.set('flip', 'ENODEV');
            await assert.rejects(at.panel.present(at.frame(1)), { code: 'PANEL_UNAVAILABLE' });
          },
          replug: async () => {
            card.connected = true;
            card.fails.delete('flip');
          },
          [Symbol.asyncDispose]: at[Symbol.asyncDispose],
        };
      });
    });

  it('has both buffers alike after any frames: each sees its own damage and that of the one before', async () => {
    const { width, height } = SMALL;
    const spot = fc.record({ x: fc.nat(width - 1), y: fc.nat(height - 1), w: fc.nat(12), h: fc.nat(9) });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<PixelFormat>('rgb565', 'xrgb8888'),
        fc.array(spot, { minLength: 1, maxLength: 8 }),
        async (format, spots) => {
          const card = new FakeCard({ ...SMALL, format }, 6);
          await using at = await opened(card);
          const bytes = PIXEL_BYTES[format];
          const expected = new Uint8Array(width * height * bytes);
          for (const [index, { x, y, w, h }] of spots.entries()) {
            const rect = { x, y, w: Math.min(w + 1, width - x), h: Math.min(h + 1, height - y) };
            const pixels = painted(rect, format, index);
            for (let row = 0; row < rect.h; row++)
              expected.set(
                pixels.subarray(row * rect.w * bytes, (row + 1) * rect.w * bytes),
                ((y + row) * width + x) * bytes,
              );
            await at.panel.present({ seq: index + 1, rects: [rect], pixels });
            assert.ok(Buffer.from(card.seen()).equals(Buffer.from(expected)), `frame ${index + 1}`);
          }
        },
      ),
      { numRuns: runs(500) },
    );
  });

  it('resolves with the time that the kernel gives for the flip', async () => {
    const card = new FakeCard(SMALL);
    await using at = await opened(card);
    const before = performance.now();
    const { at: seen } = await at.panel.present(at.frame(1));
    assert.ok(seen >= before && seen <= performance.now());
  });

  for (const [what, spoil, says] of [
    ['no connector', (card) => (card.connectors = []), /has no connector/],
    ['no display', (card) => (card.connected = false), /no display is plugged into any/],
    ['a master already', (card) => card.fails.set('setMaster', 'EBUSY'), /another program has the card.*EBUSY/],
    ['a master that may not be pushed off', (card) => card.fails.set('setMaster', 'EACCES'), /another program.*EACCES/],
    ['no memory for a buffer', (card) => card.fails.set('buffer', 'ENOMEM'), /ENOMEM/],
    ['a mode that it refuses', (card) => card.fails.set('show', 'EINVAL'), /EINVAL/],
  ] as readonly (readonly [string, (card: FakeCard) => unknown, RegExp])[])
    it(`says why a card with ${what} is no panel, leaves nothing open, and takes it when that is over`, async () => {
      const clock = virtualClock();
      const card = new FakeCard(SMALL);
      spoil(card);
      await using at = await opened(card, clock);
      await assert.rejects(at.panel.info(), { code: 'PANEL_UNAVAILABLE', message: says });
      assert.deepEqual([card.open, card.buffers.size], [0, 0]);
      const told: (string | undefined)[] = [];
      using _heard = at.panel.onChange(({ problem }) => void told.push(problem));
      card.connectors = [CONNECTOR];
      card.connected = true;
      card.fails.clear();
      await clock.advance(60_000);
      await eventually(() => told.length === 1, 'word that it is there');
      assert.equal((await at.panel.info()).width, 24);
    });

  it('looks ever less often for a card that does not come: a minute apart in the end', async () => {
    const clock = virtualClock();
    const card = new FakeCard(SMALL);
    card.fails.set('setMaster', 'EBUSY');
    await using at = await opened(card, clock);
    for (let minute = 0; minute < 10; minute++) for (let step = 0; step < 12; step++) await clock.advance(5_000);
    const looks = card.calls.filter((name) => name === 'setMaster').length;
    assert.ok(looks >= 10 && looks <= 18, `${looks} looks in ten minutes`);
    assert.equal(at.logged.filter(({ level }) => level === 'warn').length, 1, 'the same reason is logged once');
  });

  it('gives up a flip that never comes, by the clock of the scope, and begins anew', async () => {
    const clock = virtualClock();
    const card = new FakeCard(SMALL);
    card.wait = (ms) => clock.sleep(ms);
    await using at = await opened(card, clock);
    await at.panel.present(at.frame(1));
    card.stuck = true;
    const told: (string | undefined)[] = [];
    using _heard = at.panel.onChange(({ problem }) => void told.push(problem));
    const hanging = at.panel.present(at.frame(2));
    const failed = assert.rejects(hanging, { code: 'PANEL_UNAVAILABLE', message: /no flip came in 1000 ms/ });
    for (let step = 0; step < 12; step++) await clock.advance(100);
    await failed;
    assert.equal(told.length, 1);
    card.stuck = false;
    for (let step = 0; step < 20 && told.length < 2; step++) await clock.advance(1_000);
    assert.equal(told[1], undefined);
    await at.panel.present(at.frame(3));
    assert.ok(Buffer.from(card.seen()).equals(Buffer.from(at.frame(3).pixels)));
  });

  it('waits where another change of the card is under way', async () => {
    const card = new FakeCard(SMALL);
    await using at = await opened(card);
    card.busy = 3;
    await at.panel.present(at.frame(1));
    assert.equal(card.calls.filter((name) => name === 'flip').length, 4);
  });

  it('notices a display that was unplugged, though its flips still come', async () => {
    const clock = virtualClock();
    const card = new FakeCard(SMALL);
    await using at = await opened(card, clock);
    await at.panel.present(at.frame(1));
    card.connected = false;
    await at.panel.present(at.frame(2)); // the kernel is asked once a second
    await clock.advance(1_000);
    await assert.rejects(at.panel.present(at.frame(3)), { code: 'PANEL_UNAVAILABLE', message: /unplugged/ });
  });

  it('asks a card no more for what it does not know: DIRTYFB', async () => {
    const [plain, copying] = [new FakeCard(SMALL), new FakeCard(SMALL)];
    plain.fails.set('dirty', 'ENOSYS');
    for (const [card, times] of [
      [plain, 1],
      [copying, 3],
    ] as const) {
      await using at = await opened(card);
      for (const seed of [1, 2, 3]) await at.panel.present(at.frame(seed));
      assert.equal(card.calls.filter((name) => name === 'dirty').length, times);
    }
  });

  it('switches its crtc off and on, and flips nothing while it is off', async () => {
    const card = new FakeCard(SMALL);
    await using at = await opened(card);
    await at.panel.present(at.frame(1));
    await at.panel.power(false);
    assert.equal(card.shown, 0);
    const flips = card.calls.filter((name) => name === 'flip').length;
    await at.panel.present(at.frame(2));
    assert.equal(card.calls.filter((name) => name === 'flip').length, flips);
    await at.panel.power(true);
    assert.ok(Buffer.from(card.seen()).equals(Buffer.from(at.frame(2).pixels)), 'what came meanwhile is seen');
  });

  it('shows what was there before when it ends, and gives the card back', async () => {
    const card = new FakeCard(SMALL);
    {
      await using at = await opened(card);
      await at.panel.present(at.frame(1));
    }
    assert.equal(card.shown, CONSOLE);
    assert.ok(card.calls.indexOf('dropMaster') > card.calls.indexOf('restore'));
  });

  it('takes the connector, the mode and a crtc that fit, and says what there is where none does', async () => {
    const card = new FakeCard(SMALL);
    const chosen = async (wanted: Parameters<typeof choose>[1]) => {
      const { mode, crtc, connector } = await choose(card.card(), wanted);
      return [connector, crtc, mode.width];
    };
    assert.deepEqual(await chosen({}), [CONNECTOR, CRTC, 24]);
    assert.deepEqual(await chosen({ width: 1_920 }), [CONNECTOR, CRTC, 1_920]);
    await assert.rejects(chosen({ width: 800 }), /no mode of 800 x any, but 1920 x 1080, 24 x 16/);
    await assert.rejects(chosen({ connector: 9 }), /has no connector 9, but 31/);
  });

  it('reads events of the kernel, with any bytes between them, and says corners of rectangles', () => {
    const event = (type: number, token: bigint, seconds: number, micros: number) => {
      const bytes = Buffer.alloc(32);
      bytes.writeUInt32LE(type, 0);
      bytes.writeUInt32LE(32, 4);
      bytes.writeBigUInt64LE(token, 8);
      bytes.writeUInt32LE(seconds, 16);
      bytes.writeUInt32LE(micros, 20);
      return bytes;
    };
    const other = Buffer.alloc(12);
    other.writeUInt32LE(0x8000_0000, 0);
    other.writeUInt32LE(12, 4);
    const bytes = Buffer.concat([
      event(1, 8n, 1, 0),
      other,
      event(2, 9n, 12, 345_000),
      event(2, 10n, 1, 0).subarray(0, 20),
    ]);
    assert.deepEqual(flipsOf(bytes), [{ at: 12_345, token: 9 }]);
    assert.deepEqual(flipsOf(Buffer.alloc(64)), [], 'a length of nothing ends it');
    assert.deepEqual([...clips([{ x: 1, y: 2, w: 3, h: 4 }])], [1, 0, 2, 0, 4, 0, 6, 0]);
  });
});
