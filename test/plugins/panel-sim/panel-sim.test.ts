import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { panel } from '@device-core/plugin-api/services/panel';
import { createTestHost, leakCheck, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/panel-sim/index.ts';
import { SimPanel, type SimSettings } from '../../../plugins/display/panel-sim/sim-panel.ts';
import { LOOKS, painted, panelContract, whole } from '../../contracts/panel.ts';
import { pictureOf, toFormat } from '../../fixtures/png.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/display/panel-sim.yaml');

async function start(config: Partial<SimSettings> = {}) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, services: [[operations, table]], config });
  return {
    host,
    table,
    panel: host.service(panel),
    seen: async () => toFormat((await pictureOf(table)).rgba, config.format ?? 'xrgb8888'),
    unplug: async () => void (await table.run('panel.plug', { plugged: false })),
    replug: async () => void (await table.run('panel.plug', { plugged: true })),
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

const SMALL = { width: 64, height: 64, format: 'rgb565', refresh: 50, latencyMs: 0, tearing: false } as const;
const frame = (seq: number) => ({ seq, rects: [whole(SMALL)], pixels: painted(whole(SMALL), SMALL.format, seq) });

/** On a clock that the test moves. */
function timed(settings: Partial<SimSettings> = {}) {
  const clock = virtualClock();
  const { scope, log, ...rest } = part(clock);
  return { clock, panel: new SimPanel(scope, log, { ...SMALL, ...settings }), ...rest };
}

describe('panel-sim', () => {
  for (const look of LOOKS)
    for (const tearing of [false, true])
      describe(`with ${look.width} x ${look.height} ${look.format}, tearing ${tearing}, is a panel that`, () =>
        panelContract(look, (asked) => start({ ...asked, tearing })));

  it('flips at its refresh rate and takes the next frame then', async () => {
    await using target = timed();
    const began = target.clock.monotonic();
    const seen: number[] = [];
    const painting = (async () => {
      for (let seq = 1; seq <= 5; seq++) seen.push((await target.panel.present(frame(seq))).at - began);
    })();
    for (let step = 0; step < 21; step++) await target.clock.advance(5);
    await painting;
    assert.deepEqual(seen.map(Math.round), [20, 40, 60, 80, 100]);
  });

  it('has no timer while nothing is presented', async () => {
    await using target = timed();
    const painting = target.panel.present(frame(1));
    await target.clock.advance(20);
    await painting;
    assert.equal(target.clock.pending, 0);
  });

  it('lets one frame wait for the flip of another, and refuses a third', async () => {
    await using target = timed();
    const first = target.panel.present(frame(1));
    const second = target.panel.present(frame(2));
    await assert.rejects(target.panel.present(frame(3)), { code: 'PANEL_UNAVAILABLE' });
    await target.clock.advance(45);
    await Promise.all([first, second]);
    assert.equal(target.panel.state().seq, 2);
  });

  it('tells when a frame is seen: later than it was taken, where the panel is slow', async () => {
    await using target = timed({ latencyMs: 35 });
    const began = target.clock.monotonic();
    const painting = target.panel.present(frame(1));
    await target.clock.advance(20);
    assert.equal(Math.round((await painting).at - began), 55);
    assert.equal(Math.round(target.clock.monotonic() - began), 20);
  });

  it('tears where it may: what comes while its rows are drawn is counted', async () => {
    await using target = timed({ tearing: true });
    await target.panel.present(frame(1));
    assert.equal(target.panel.state().torn, 0, 'at the flip');
    await target.clock.advance(10);
    await target.panel.present(frame(2));
    assert.equal(target.panel.state().torn, 1, 'half way down');
    const low = { x: 0, y: 40, w: 4, h: 4 };
    await target.panel.present({ seq: 3, rects: [low], pixels: painted(low, SMALL.format, 3) });
    assert.equal(target.panel.state().torn, 1, 'below the beam');
  });

  it('loses the frame that is on its way when the cable is pulled', async () => {
    await using target = timed();
    const lost = target.panel.present(frame(1)).catch((error: unknown) => error);
    await target.clock.advance(5);
    target.panel.plug(false);
    const error = await lost;
    assert.ok(error instanceof CoreError && error.code === 'PANEL_UNAVAILABLE', String(error));
    assert.equal(target.panel.state().frames, 0);
    assert.equal(target.clock.pending, 0);
    await assert.rejects(target.panel.info(), { code: 'PANEL_UNAVAILABLE' });
  });

  it('keeps power and brightness while it is unplugged, and says how it is', async () => {
    await using target = await start();
    const info = await target.panel.info();
    await target.panel.brightness(0.25);
    await target.panel.power(false);
    await target.unplug();
    await assert.rejects(target.panel.brightness(1), { code: 'PANEL_UNAVAILABLE' });
    await target.replug();
    assert.deepEqual(await target.table.run('panel.state', {}), {
      ...info,
      plugged: true,
      on: false,
      level: 0.25,
      frames: 0,
      pixels: 0,
      torn: 0,
    });
  });

  it('is an error in /health while it is unplugged', async () => {
    await using target = await start();
    const ask = async () => {
      const found: { name: string; status: string; code?: string | undefined }[] = [];
      await target.host.hook('health.collect').promise({
        add: (name, { status, code }) => void found.push({ name, status, code }),
        bridge: () => undefined,
        warn: () => undefined,
      });
      return found.filter(({ name }) => name === 'panel-sim');
    };
    assert.deepEqual(await ask(), [{ name: 'panel-sim', status: 'okay', code: undefined }]);
    await target.unplug();
    assert.deepEqual(await ask(), [{ name: 'panel-sim', status: 'error', code: 'PANEL_UNAVAILABLE' }]);
  });
});
