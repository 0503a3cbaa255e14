/** The example of the guide: it does what a panel must do, and the guide shows what stands in it. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { DrivenPanel, type PanelHardware } from '@device-core/plugin-api/panel-driver';
import { panel } from '@device-core/plugin-api/services/panel';
import { checkManifest, createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../docs/examples/window-panel/index.ts';
import { panelContract } from '../contracts/panel.ts';
import { docBlocks } from '../e2e/doc-blocks.ts';
import { part } from '../fixtures/scope.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLE = join(ROOT, 'docs/examples/window-panel');
const MANIFEST = join(EXAMPLE, 'plugin.yaml');
const LOOK = { width: 302, height: 177, format: 'rgb565' } as const;

/** What a controller would show that was sent these bytes. */
function shown(bytes: Buffer): Uint8Array {
  const glass = new Uint8Array(LOOK.width * LOOK.height * 2);
  for (let at = 0; at < bytes.length; ) {
    const [x, y, w, h] = [0, 2, 4, 6].map((offset) => bytes.readUInt16LE(at + offset)) as [
      number,
      number,
      number,
      number,
    ];
    at += 8;
    for (let row = y; row < y + h; row++, at += w * 2)
      glass.set(bytes.subarray(at, at + w * 2), (row * LOOK.width + x) * 2);
  }
  return glass;
}

describe('the panel of the guide', () => {
  after(leakCheck());

  it('agrees with its manifest', () => {
    assert.deepEqual(checkManifest(MANIFEST, plugin), []);
  });

  describe('over a file', () => {
    panelContract(LOOK, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'window-'));
      const device = join(folder, 'window0');
      await writeFile(device, '');
      const { width, height } = LOOK;
      const host = await createTestHost(plugin, { manifest: MANIFEST, config: { device, width, height } });
      return {
        panel: host.service(panel),
        seen: async () => shown(await readFile(device)),
        async [Symbol.asyncDispose]() {
          await host[Symbol.asyncDispose]();
          await rm(folder, { recursive: true, force: true });
        },
      };
    });
  });

  it('is what the guide shows', async () => {
    const flat = (text: string) => text.replace(/^[ \t]+/gm, '');
    const blocks = docBlocks(await readFile(join(ROOT, 'docs/guides/panel-driver.md'), 'utf8'));
    const shows = blocks.filter((block) => block.kind === 'shows');
    assert.ok(shows.length >= 4);
    for (const { path, text, line } of shows)
      assert.ok(flat(await readFile(join(EXAMPLE, path), 'utf8')).includes(flat(text)), `line ${line}`);
  });
});

describe('behaviour that drivers share', () => {
  after(leakCheck());
  const INFO = {
    driver: 'fake',
    width: 4,
    height: 4,
    format: 'rgb565',
    refresh: 60,
    brightness: true,
    power: true,
  } as const;
  const FRAME = { seq: 1, rects: [{ x: 0, y: 0, w: 4, h: 4 }], pixels: new Uint8Array(32) };

  /** Hardware that does as it is told. */
  class Fake {
    opened = 0;
    closed = 0;
    readonly said: string[] = [];
    open: () => Promise<void> = async () => undefined;
    show: () => Promise<void> = async () => undefined;
    close: () => Promise<void> = async () => undefined;

    async hardware(): Promise<PanelHardware> {
      await this.open();
      this.opened += 1;
      return {
        info: INFO,
        show: async () => {
          await this.show();
          return { at: 1 };
        },
        power: async (on) => void this.said.push(`power ${on}`),
        brightness: async (level) => void this.said.push(`brightness ${level}`),
        [Symbol.asyncDispose]: async () => {
          this.closed += 1;
          await this.close();
        },
      };
    }
  }

  async function started(fake: Fake) {
    const clock = virtualClock();
    const { scope, log, logged, ...rest } = part(clock);
    const driven = await DrivenPanel.start({ scope, log, name: 'fake', open: () => fake.hardware() });
    return { driven, clock, logged, scope, [Symbol.asyncDispose]: rest[Symbol.asyncDispose] };
  }

  it('gives a panel that comes back the power and brightness that were wanted', async () => {
    const fake = new Fake();
    await using at = await started(fake);
    await at.driven.power(false);
    await at.driven.brightness(0.25);
    fake.show = () => Promise.reject(new Error('it fell off'));
    await assert.rejects(at.driven.present(FRAME), { code: 'PANEL_UNAVAILABLE', message: /it fell off/ });
    fake.said.length = 0;
    await at.clock.advance(1_000);
    assert.deepEqual(fake.said, ['power false', 'brightness 0.25']);
  });

  it('gives up a frame that takes too long, and its late end harms no later frame', async () => {
    const fake = new Fake();
    await using at = await started(fake);
    const late = Promise.withResolvers<void>();
    fake.show = () => late.promise;
    const failed = assert.rejects(at.driven.present(FRAME), {
      code: 'PANEL_UNAVAILABLE',
      message: /frame of the panel/,
    });
    await at.clock.advance(2_000);
    await failed;
    late.reject(new Error('at last'));
    fake.show = async () => undefined;
    await at.clock.advance(1_000);
    await at.driven.present(FRAME);
    assert.deepEqual([fake.opened, fake.closed], [2, 1]);
  });

  it('closes hardware that opened after its limit, and leaves none open at its end', async () => {
    const fake = new Fake();
    const gate = Promise.withResolvers<void>();
    fake.open = () => gate.promise;
    const clock = virtualClock();
    const { scope, log, ...rest } = part(clock);
    const starting = DrivenPanel.start({ scope, log, name: 'fake', open: () => fake.hardware() });
    await clock.advance(10_000);
    await starting;
    gate.resolve();
    await clock.advance(1_000);
    await rest[Symbol.asyncDispose]();
    assert.equal(fake.opened, fake.closed);
    assert.ok(fake.opened >= 1);
  });

  it('grows its pauses for a panel that opens and never shows anything', async () => {
    const fake = new Fake();
    fake.show = () => Promise.reject(new Error('no'));
    await using at = await started(fake);
    at.driven.onChange(({ problem }) => {
      if (problem === undefined) at.driven.present(FRAME).catch(() => undefined); // it fails each time
    });
    await at.driven.present(FRAME).catch(() => undefined);
    for (let minute = 0; minute < 60; minute++) for (let step = 0; step < 10; step++) await at.clock.advance(6_000);
    assert.ok(fake.opened > 30 && fake.opened < 80, `${fake.opened} times in an hour`);
  });

  it('does not wait for ever for hardware that does not let itself be closed', async () => {
    const fake = new Fake();
    const clock = virtualClock();
    const { scope, log, logged, ...rest } = part(clock);
    await DrivenPanel.start({ scope, log, name: 'fake', open: () => fake.hardware() });
    fake.close = () => new Promise(() => undefined);
    const ended = rest[Symbol.asyncDispose]();
    for (let step = 0; step < 20; step++) await clock.advance(1_000);
    await ended;
    assert.ok(logged.some(({ message }) => /does not let itself be closed/.test(message)));
  });
});
