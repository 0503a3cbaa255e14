/** Panels and fingers of a virtual machine: what goes out is compared with its screen, pixel by pixel, what comes in with what its hands did. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Rect } from '@device-core/plugin-api/scene';
import type { InputEvent } from '@device-core/plugin-api/services/input';
import type { PanelInfo } from '@device-core/plugin-api/services/panel';
import { ABS, EV, SYN } from '../../plugins/display/input-evdev/codes.ts';
import { eventually } from '../fixtures/eventually.ts';
import { Machine, noMachine } from './machine.ts';
import { Picture } from './picture.ts';

const WHOLE_AND_PARTS: readonly (readonly Rect[])[] = [
  [{ x: 0, y: 0, w: 720, h: 720 }],
  [
    { x: 0, y: 0, w: 1, h: 1 },
    { x: 719, y: 719, w: 1, h: 1 },
    { x: 17, y: 9, w: 101, h: 53 },
    { x: 0, y: 400, w: 720, h: 3 },
    { x: 500, y: 0, w: 3, h: 300 },
  ],
  [{ x: 60, y: 40, w: 300, h: 200 }],
  [{ x: 61, y: 41, w: 5, h: 5 }],
];

async function shows(machine: Machine, picture: Picture, what: string): Promise<void> {
  assert.equal(picture.differs(await machine.screenshot()), 0, `${what}: pixels that differ`);
}

/** Frames that paint over each other, each compared with the screen. */
async function frames(machine: Machine, { width, height, ...info }: PanelInfo): Promise<Picture> {
  const picture = new Picture({ ...info, width, height });
  let seed = 1;
  for (const [index, rects] of WHOLE_AND_PARTS.entries()) {
    const fitting = index === 0 ? [{ x: 0, y: 0, w: width, h: height }] : rects.filter(({ y, h }) => y + h <= height);
    await machine.call('present', { rects: fitting, seed });
    for (const rect of fitting) picture.put(rect, seed++);
    await shows(machine, picture, `frame ${index + 1}`);
  }
  return picture;
}

interface Heard {
  readonly events: readonly InputEvent[];
  readonly problems: readonly (string | null)[];
  readonly now: number;
}

describe('a virtual device', { skip: noMachine, timeout: 1_200_000 }, () => {
  describe('with a card, a tablet, and keys', () => {
    let machine: Machine;
    before(
      async () => {
        machine = await Machine.boot({
          modules: ['bochs', 'evdev', 'virtio_pci', 'virtio_input', 'uinput'],
          devices: ['VGA,xres=720,yres=720,edid=on', 'virtio-tablet-pci', 'virtio-keyboard-pci'],
        });
      },
      { timeout: 400_000 },
    );
    after(async () => await machine?.[Symbol.asyncDispose]());

    const heard = () => machine.call<Heard>('heard');
    const until = (count: number, what: string) =>
      eventually(async () => {
        const got = await heard();
        return got.events.length >= count ? got : undefined;
      }, what);
    const nothingYet = () => machine.call('forget');
    const hand = (events: readonly object[]) => machine.ask('input-send-event', { events });
    const abs = (axis: 'x' | 'y', value: number) => ({ type: 'abs', data: { axis, value } });
    const button = (down: boolean) => ({ type: 'btn', data: { down, button: 'left' } });

    it('shows frames by its framebuffer, to the pixel, and is blanked', async () => {
      await machine.call('open', { panel: 'fbdev' });
      const info = await machine.call<PanelInfo>('info');
      assert.deepEqual([info.width, info.height, info.format], [720, 720, 'xrgb8888']);
      const picture = await frames(machine, info);
      if (info.power) {
        await machine.call('power', { on: false });
        await shows(machine, new Picture(info), 'off');
        await machine.call('power', { on: true });
        // Whoever switches a panel on sends a whole frame.
        const rect = { x: 0, y: 0, w: 720, h: 720 };
        await machine.call('present', { rects: [rect], seed: 70 });
        picture.put(rect, 70);
        await shows(machine, picture, 'on again');
      }
      await machine.call('close');
    });

    it('waits for a card that another program has, and takes it when that was killed while it flipped', async () => {
      await machine.call('flipper');
      await machine.call('open', { panel: 'drm' });
      await assert.rejects(machine.call('info'), /another program has the card/);
      await machine.call('killFlipper');
      const info = await eventually(
        () => machine.call<PanelInfo>('info').catch(() => undefined),
        'the card that is free',
        { ms: 60_000, every: 500 },
      );
      assert.deepEqual([info.driver, info.width, info.height], ['drm', 720, 720]);
    });

    it('shows frames by its card, to the pixel, and is switched off and on', async () => {
      const info = await machine.call<PanelInfo>('info');
      const picture = await frames(machine, info);
      const flip = { rects: [{ x: 0, y: 0, w: 8, h: 8 }], seed: 90 };
      const { asked, at, now } = await machine.call<{ asked: number; at: number; now: number }>('present', flip);
      picture.put(flip.rects[0]!, 90);
      assert.ok(at >= asked && at <= now, `a flip at ${at}, asked at ${asked}, known at ${now}`);
      await machine.call('power', { on: false });
      await shows(machine, new Picture(info), 'off');
      // A frame that comes meanwhile is seen when it is on again.
      await machine.call('present', { rects: [{ x: 100, y: 100, w: 50, h: 50 }], seed: 91 });
      picture.put({ x: 100, y: 100, w: 50, h: 50 }, 91);
      await machine.call('power', { on: true });
      await shows(machine, picture, 'on again');
    });

    it('gives the card back: its framebuffer shows again, and the card can be taken again', async () => {
      await machine.call('close');
      await machine.call('open', { panel: 'fbdev' });
      await frames(machine, await machine.call<PanelInfo>('info'));
      await machine.call('close');
      await machine.call('open', { panel: 'drm' });
      await frames(machine, await machine.call<PanelInfo>('info'));
      await machine.call('close');
    });

    it('hears a finger of a tablet exactly where it was put', async () => {
      const settings = {
        id: 'tablet',
        name: 'QEMU Virtio Tablet',
        grab: true,
        keys: {},
        knobs: {},
        touch: { rotate: 0, flipX: false, flipY: false },
      };
      assert.equal(await machine.call('input', { settings }), null);
      await hand([abs('x', 0), abs('y', 32_767), button(true)]);
      await hand([abs('x', 16_384), abs('y', 8_191)]);
      await hand([button(false)]);
      await hand([abs('x', 5), abs('y', 5)]);
      const { events, now } = await until(3, 'a finger');
      const units = (raw: number) => Math.round(((raw + 0.5) / 32_768) * 720_000) / 1_000;
      assert.deepEqual(
        events.map((event) => event.kind === 'touch' && [event.phase, event.x, event.y]),
        [
          ['down', units(0), units(32_767)],
          ['move', units(16_384), units(8_191)],
          ['up', units(16_384), units(8_191)],
        ],
      );
      assert.ok(
        events.every(({ at }) => at > 0 && at <= now),
        'times are of the monotonic clock',
      );
      await nothingYet();
    });

    it('hears keys by the names of the SKU, and no others', async () => {
      const settings = {
        id: 'keys',
        name: 'QEMU Virtio Keyboard',
        grab: false,
        keys: { KEY_MUTE: 'mute', KEY_OK: 'ok' },
        knobs: {},
      };
      assert.equal(await machine.call('input', { settings }), null);
      for (const [down, code] of [
        [true, 'a'],
        [true, 'audiomute'],
        [false, 'audiomute'],
        [false, 'a'],
      ] as const)
        await hand([{ type: 'key', data: { down, key: { type: 'qcode', data: code } } }]);
      const { events } = await until(2, 'the mute key');
      assert.deepEqual(
        events.map((event) => event.kind === 'key' && [event.name, event.phase]),
        [
          ['mute', 'down'],
          ['mute', 'up'],
        ],
      );
      await nothingYet();
    });

    const GLASS = {
      name: 'Lab touchscreen',
      keys: [0x14a],
      axes: [
        [ABS.slot, 4],
        [ABS.trackingId, 0],
        [ABS.mtX, 719],
        [ABS.mtY, 719],
        [0, 719],
        [1, 719],
      ],
    };
    const record = (type: number, code: number, value: number) => ({ type, code, value });
    const report = record(EV.syn, SYN.report, 0);
    const emit = (records: readonly object[], times = 1) => machine.call('emit', { name: GLASS.name, records, times });
    const told = (events: readonly InputEvent[]) =>
      events.map((event) => event.kind === 'touch' && `${event.id} ${event.phase} ${event.x} ${event.y}`);

    it('hears several fingers of a touch screen that comes later, and tells them apart', async () => {
      const settings = {
        id: 'glass',
        name: 'Lab touch*',
        grab: true,
        keys: {},
        knobs: { REL_DIAL: { name: 'volume', reverse: false } },
        touch: { rotate: 0, flipX: false, flipY: false },
      };
      assert.match(String(await machine.call('input', { settings })), /no device named Lab/);
      await machine.call('make', { device: GLASS });
      await eventually(async () => (await heard()).problems.at(-1) === null, 'the device that came', {
        ms: 30_000,
        every: 200,
      });
      await nothingYet();
      await emit([
        record(EV.abs, ABS.slot, 0),
        record(EV.abs, ABS.trackingId, 1),
        record(EV.abs, ABS.mtX, 100),
        record(EV.abs, ABS.mtY, 200),
        report,
      ]);
      await emit([
        record(EV.abs, ABS.slot, 1),
        record(EV.abs, ABS.trackingId, 2),
        record(EV.abs, ABS.mtX, 600),
        record(EV.abs, ABS.mtY, 300),
        report,
      ]);
      await emit([
        record(EV.abs, ABS.slot, 0),
        record(EV.abs, ABS.trackingId, -1),
        record(EV.abs, ABS.slot, 1),
        record(EV.abs, ABS.mtX, 610),
        report,
      ]);
      await emit([record(EV.abs, ABS.trackingId, -1), report]);
      const { events } = await until(5, 'two fingers');
      assert.deepEqual(told(events), [
        '0 down 100.5 200.5',
        '1 down 600.5 300.5',
        '0 up 100.5 200.5',
        '1 move 610.5 300.5',
        '1 up 610.5 300.5',
      ]);
      await nothingYet();
    });

    it('is right after the kernel dropped records that were not read in time', async () => {
      await emit([
        record(EV.abs, ABS.slot, 0),
        record(EV.abs, ABS.trackingId, 5),
        record(EV.abs, ABS.mtX, 10),
        record(EV.abs, ABS.mtY, 10),
        report,
      ]);
      await until(1, 'a finger that is down');
      assert.ok((await machine.call<number>('hold', { held: true })) > 0);
      // Another finger comes and goes so often that no buffer holds it, and the first one leaves unseen.
      const comes = [
        record(EV.abs, ABS.slot, 1),
        record(EV.abs, ABS.trackingId, 6),
        record(EV.abs, ABS.mtX, 300),
        report,
      ];
      const goes = [record(EV.abs, ABS.trackingId, -1), report];
      await emit([...comes, ...goes], 2_000);
      await emit([record(EV.abs, ABS.slot, 0), record(EV.abs, ABS.trackingId, -1), report]);
      await emit([
        record(EV.abs, ABS.slot, 2),
        record(EV.abs, ABS.trackingId, 9),
        record(EV.abs, ABS.mtX, 400),
        record(EV.abs, ABS.mtY, 500),
        report,
      ]);
      await machine.call('hold', { held: false });
      const { events } = await eventually(async () => {
        const got = await heard();
        return got.events.some((event) => event.kind === 'touch' && event.id === 2) ? got : undefined;
      }, 'the finger that is down now');
      const down = new Set<number>();
      for (const event of events) {
        if (event.kind !== 'touch') continue;
        assert.equal(down.has(event.id), event.phase !== 'down', `finger ${event.id} ${event.phase}`);
        if (event.phase === 'down') down.add(event.id);
        if (event.phase === 'up' || event.phase === 'cancel') down.delete(event.id);
      }
      assert.deepEqual([...down], [2]);
      assert.ok(events.length < 4_000, `${events.length} of 4,004 events came through: none was dropped`);
      await emit([record(EV.abs, ABS.trackingId, -1), report]);
      await eventually(
        async () =>
          (await heard()).events.at(-1)?.kind === 'touch' &&
          told((await heard()).events)
            .at(-1)
            ?.toString()
            .startsWith('2 up'),
        'its end',
      );
      await nothingYet();
    });

    it('tells a device that is unplugged, and hears it again when it is back', async () => {
      await machine.call('unmake', { name: GLASS.name });
      await eventually(async () => (await heard()).problems.length === 1, 'it is gone');
      await machine.call('make', { device: GLASS });
      await eventually(async () => (await heard()).problems.length === 2, 'it is back', { ms: 30_000, every: 200 });
      assert.equal((await heard()).problems[1], null);
      await emit([
        record(EV.abs, ABS.slot, 0),
        record(EV.abs, ABS.trackingId, 1),
        record(EV.abs, ABS.mtX, 1),
        record(EV.abs, ABS.mtY, 2),
        report,
      ]);
      assert.deepEqual(told((await until(1, 'a finger')).events), ['0 down 1.5 2.5']);
    });
  });

  for (const [vga, format] of [
    ['0x314', 'rgb565'],
    ['0x315', undefined],
  ] as const)
    it(`has a framebuffer of VESA in mode ${vga}, ${format ?? 'which is refused with its depth'}`, {
      timeout: 500_000,
    }, async () => {
      await using machine = await Machine.boot({ modules: [], devices: ['VGA'], append: `vga=${vga}` });
      await machine.call('open', { panel: 'fbdev' });
      if (format === undefined) return await assert.rejects(machine.call('info'), /24 bits a pixel/);
      const info = await machine.call<PanelInfo>('info');
      assert.deepEqual([info.width, info.height, info.format, info.power], [800, 600, format, false]);
      await frames(machine, info);
    });
});
