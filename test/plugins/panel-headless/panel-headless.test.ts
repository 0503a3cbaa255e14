import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { operations } from '@device-core/plugin-api/services/operations';
import { panel } from '@device-core/plugin-api/services/panel';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/panel-headless/index.ts';
import { LOOKS, type Look, painted, panelContract, whole } from '../../contracts/panel.ts';
import { decodePng, pictureOf, toFormat } from '../../fixtures/png.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/display/panel-headless.yaml');

async function start(look: Partial<Look> = {}) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, services: [[operations, table]], config: look });
  return {
    table,
    panel: host.service(panel),
    seen: async () => toFormat((await pictureOf(table)).rgba, look.format ?? 'xrgb8888'),
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

describe('panel-headless', () => {
  for (const look of LOOKS)
    describe(`with ${look.width} x ${look.height} ${look.format} is a panel that`, () =>
      panelContract(look, (asked) => start(asked)));

  it('is 720 x 720 with 32 bits a pixel without other orders, and black', async () => {
    await using target = await start();
    const { width, height, format } = await target.panel.info();
    assert.deepEqual([width, height, format], [720, 720, 'xrgb8888']);
    const { rgba } = await pictureOf(target.table);
    assert.ok(rgba.every((value, at) => value === (at % 4 === 3 ? 255 : 0)));
  });

  it('gives a PNG of what it shows, and a black one while it is off', async () => {
    await using target = await start({ width: 64, height: 80 });
    const info = await target.panel.info();
    const pixels = painted(whole(info), info.format, 7);
    await target.panel.present({ seq: 1, rects: [whole(info)], pixels: pixels.slice() });
    const answer = (await target.table.run('panel.picture', {})) as { png: string; width: number; height: number };
    assert.deepEqual([answer.width, answer.height], [64, 80]);
    const shown = decodePng(Buffer.from(answer.png, 'base64'));
    assert.deepEqual(
      [...shown.rgba.subarray(0, 8)],
      [...[2, 1, 0].map((at) => pixels[at]), 255, ...[6, 5, 4].map((at) => pixels[at]), 255],
    );
    await target.panel.power(false);
    assert.ok((await pictureOf(target.table)).rgba.every((value, at) => value === (at % 4 === 3 ? 255 : 0)));
    await target.panel.power(true);
    assert.deepEqual((await pictureOf(target.table)).rgba, shown.rgba);
  });
});
