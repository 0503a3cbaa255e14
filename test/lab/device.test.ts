/** A Core in a virtual machine: a scene reaches the glass, and a finger on the glass reaches whoever drew it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DisplayState, SurfaceInput } from '@device-core/plugin-api/services/display';
import { eventually } from '../fixtures/eventually.ts';
import { Machine, noMachine, type Screenshot } from './machine.ts';

const GROUND = [0x10, 0x20, 0x30] as const;
const BUTTON = [0xe0, 0x80, 0x40] as const;
const BOX = { x: 100, y: 200, w: 300, h: 150 };
/** Of the capture indicator, which is not of the scene. */
const CORNER = { x: 640, y: 0, w: 80, h: 80 };

const within = ({ x, y, w, h }: typeof BOX, px: number, py: number) => px >= x && px < x + w && py >= y && py < y + h;

function wrong({ width, height, rgb }: Screenshot): number {
  assert.deepEqual([width, height], [720, 720]);
  let count = 0;
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      if (within(CORNER, x, y)) continue;
      const at = (y * width + x) * 3;
      const wanted = within(BOX, x, y) ? BUTTON : GROUND;
      if (wanted.some((value, channel) => rgb[at + channel] !== value)) count++;
    }
  return count;
}

describe('a Core with a screen in a virtual device', { skip: noMachine, timeout: 1_200_000 }, () => {
  let machine: Machine;
  before(
    async () => {
      machine = await Machine.boot({
        modules: ['bochs', 'evdev', 'virtio_pci', 'virtio_input'],
        devices: ['VGA,xres=720,yres=720,edid=on', 'virtio-tablet-pci'],
      });
    },
    { timeout: 400_000 },
  );
  after(async () => await machine?.[Symbol.asyncDispose]());

  for (const renderer of ['soft'])
    it(`shows a scene by render-${renderer}, to the pixel, and hears touches of it`, {
      timeout: 400_000,
    }, async () => {
      await machine.call('startDevice', { renderer });
      const scene = {
        scene: 1,
        title: 'Lab',
        background: '#102030',
        nodes: [{ kind: 'rect', id: 'go', ...BOX, fill: '#e08040', tap: 'go', label: 'Go' }],
      };
      await machine.call('put', { surface: { id: 'lab', layer: 'home', scene } });
      const state = await eventually(
        async () => {
          const now = await machine.call<DisplayState>('state');
          return now.renderer === renderer && now.panel === 'drm' ? now : undefined;
        },
        'a renderer that paints',
        { ms: 120_000, every: 500 },
      );
      assert.equal(state.problem, undefined);
      await eventually(async () => wrong(await machine.screenshot()) === 0, 'the scene, every pixel of it', {
        ms: 60_000,
        every: 1_000,
      });
      const finger = (down: boolean) => ({ type: 'btn', data: { down, button: 'left' } });
      const at = (axis: 'x' | 'y', units: number) => ({
        type: 'abs',
        data: { axis, value: Math.floor((units / 720) * 32_768) },
      });
      await machine.ask('input-send-event', { events: [at('x', 250), at('y', 275), finger(true)] });
      await machine.ask('input-send-event', { events: [finger(false)] });
      const [surface, input] = await eventually(
        async () => (await machine.call<readonly (readonly [string, SurfaceInput])[]>('touched'))[0],
        'the tap',
        { ms: 60_000, every: 200 },
      );
      assert.deepEqual([surface, input.node, input.tap, input.phase], ['lab', 'go', 'go', 'tap']);
      assert.ok(Math.abs(input.x! - 250) < 0.05 && Math.abs(input.y! - 275) < 0.05, `${input.x}, ${input.y}`);
      await machine.call('stopDevice');
    });
});
