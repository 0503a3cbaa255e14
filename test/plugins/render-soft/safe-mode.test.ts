/** The screen of safe mode, painted without a package: it reads well, and its code can be scanned. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { DAY, NIGHT, type Scene, type SceneNode } from '@device-core/plugin-api/scene';
import { leakCheck } from '@device-core/plugin-api/testing';
import { encode } from 'uqr';
import { safeModeScene } from '../../../plugins/display/system-view/pages.ts';
import { decodePng } from '../../fixtures/png.ts';
import { AROUND, type Soft, soft, surface } from './soft.ts';

after(leakCheck());

const FOLDER = join(import.meta.dirname, '../../pictures/soft');
const CODE = 'device-core safe mode; crashed; weather; it ended the process while it started';

async function shown(target: Soft, theme = NIGHT): Promise<Scene> {
  const around = { ...AROUND, theme };
  const display = {
    measure: (texts: never) => target.renderer.measure(texts, around),
    surroundings: async () => around,
  };
  const blame = { outcome: 'crashed', plugin: 'weather', message: 'plugin weather called process.exit(1)' };
  const scene = await safeModeScene(display as never, blame, CODE);
  await target.apply({ surroundings: around, set: [surface('page', scene, { layer: 6 })] });
  return scene;
}

/** Pixels that differ by more than what processors may round differently. */
function differing(one: Uint8Array, other: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < one.length; at++) if (Math.abs(one[at]! - other[at]!) > 2) count++;
  return count;
}

describe('safe mode by the soft renderer', () => {
  for (const [name, theme] of Object.entries({ night: NIGHT, day: DAY }))
    it(`looks as it did: ${name}`, async () => {
      await using target = await soft();
      await shown(target, theme);
      const file = join(FOLDER, `safe-mode-${name}.png`);
      const png = await target.renderer.snapshot();
      if (process.env.DEVICE_PICTURES === 'write') {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, png);
      }
      assert.ok(existsSync(file), 'run it with DEVICE_PICTURES=write, and look at the picture');
      assert.equal(differing(decodePng(png).rgba, decodePng(readFileSync(file)).rgba), 0);
    });

  it('has a code of whole pixels: each module is black or white, as it should be', async () => {
    await using target = await soft();
    const scene = await shown(target);
    const group = scene.nodes.find(
      (node): node is Extract<SceneNode, { kind: 'group' }> =>
        node.kind === 'group' && node.nodes.some(({ kind }) => kind === 'path'),
    );
    assert.ok(group?.w !== undefined);
    const { data } = encode(CODE, { ecc: 'L', border: 4 });
    const unit = group.w / data.length;
    assert.ok(Number.isInteger(unit) && unit >= 3, `${unit} pixels for a module`);
    const wrong: string[] = [];
    for (const [row, modules] of data.entries())
      for (const [column, dark] of modules.entries())
        for (const [dx, dy] of [
          [0, 0],
          [unit - 1, 0],
          [0, unit - 1],
          [unit - 1, unit - 1],
        ] as const) {
          // The light border has round corners.
          if (row < 4 || column < 4 || row >= data.length - 4 || column >= data.length - 4) continue;
          const found = target.at((group.x ?? 0) + column * unit + dx, (group.y ?? 0) + row * unit + dy).join();
          if (found !== (dark ? '0,0,0' : '255,255,255')) wrong.push(`${column}, ${row}: ${found}`);
        }
    assert.deepEqual(wrong, []);
  });
});
