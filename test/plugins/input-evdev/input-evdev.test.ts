import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type Inputs, inputs as inputsRef } from '@device-core/plugin-api/services/input';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { ABS, BTN, KEY_NAMES } from '../../../plugins/display/input-evdev/codes.ts';
import type { TouchShape } from '../../../plugins/display/input-evdev/decoder.ts';
import { findNode, matches } from '../../../plugins/display/input-evdev/find.ts';
import { plugin } from '../../../plugins/display/input-evdev/index.ts';
import { type DeviceSettings, EvdevSource } from '../../../plugins/display/input-evdev/source.ts';
import { inputContract, RecordingInputs, wellFormed } from '../../contracts/input.ts';
import { FakeDevice } from '../../fixtures/evdev-device.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { healthOf } from '../../fixtures/native.ts';
import { part } from '../../fixtures/scope.ts';

const MANIFEST = new URL('../../../manifests/plugins/display/input-evdev.yaml', import.meta.url).pathname;
const AXIS = { min: 0, max: 4_095 };
const STEP = 720 / 4_096;
const SLOTS: TouchShape = { kind: 'slots', slots: 5, x: AXIS, y: AXIS };
const SINGLE: TouchShape = { kind: 'single', button: BTN.left, x: AXIS, y: AXIS };
const PLAIN = { rotate: 0, flipX: false, flipY: false } as const;
const SETTINGS: DeviceSettings = {
  id: 'panel',
  device: '/dev/input/event7',
  grab: false,
  touch: PLAIN,
  keys: { KEY_MUTE: 'mute' },
  knobs: { REL_DIAL: { name: 'volume', reverse: true } },
};
const NOWHERE = { nodes: '/nowhere/input', about: '/nowhere/about' };

async function opened(inputs: Inputs, device: FakeDevice, settings: Partial<DeviceSettings> = {}, folder?: string) {
  const clock = virtualClock();
  const { scope, log, logged, ...rest } = part(clock);
  const source = await EvdevSource.start({
    scope,
    log,
    inputs,
    settings: { ...SETTINGS, ...settings },
    folders: folder === undefined ? NOWHERE : { nodes: folder, about: folder },
    open: async () => device.node(),
  });
  return {
    source,
    clock,
    logged,
    async [Symbol.asyncDispose]() {
      await rest[Symbol.asyncDispose]();
      assert.equal(device.open, 0, 'the node was left open');
    },
  };
}

/** A device in the hands of a person. */
async function inHands(inputs: Inputs, shape: TouchShape | undefined) {
  const device = new FakeDevice(shape);
  const { clock, [Symbol.asyncDispose]: close } = await opened(
    inputs,
    device,
    shape ? {} : { touch: undefined as never },
  );
  const raw = (units: number) => Math.min(4_095, Math.floor(units / STEP));
  return {
    beside: STEP / 2 + 0.001,
    touch: (finger: number, phase: 'down' | 'move' | 'up', x: number, y: number) => {
      if (phase === 'up') {
        device.finger(finger, 'move', raw(x), raw(y));
        device.sync();
      }
      device.finger(finger, phase, raw(x), raw(y));
      device.sync();
    },
    key: {
      name: 'mute',
      press: (phase: 'down' | 'up') => {
        device.key(113, phase === 'down' ? 1 : 0);
        device.sync();
      },
    },
    knob: {
      name: 'volume',
      turn: (detents: number) => {
        device.turn(7, -detents);
        device.sync();
      },
    },
    plug: async (there: boolean) => {
      device.plug(there);
      await clock.advance(there ? 60_000 : 1);
    },
    [Symbol.asyncDispose]: close,
  };
}

describe('input-evdev', () => {
  after(leakCheck());

  describe('a touch screen with slots, keys and a knob', () => {
    inputContract((inputs) => inHands(inputs, SLOTS), { touch: true, keys: true, knobs: true, plug: true });
  });

  describe('keys and a knob alone', () => {
    inputContract(
      async (inputs) => {
        const { touch: _, ...device } = await inHands(inputs, undefined);
        return device;
      },
      { keys: true, knobs: true, plug: true },
    );
  });

  it('tells a tablet of one finger by its button', async () => {
    const inputs = new RecordingInputs();
    const device = new FakeDevice(SINGLE);
    await using _ = await opened(inputs, device);
    device.finger(0, 'move', 100, 100);
    device.sync();
    device.finger(0, 'down', 2_048, 1_024);
    device.sync();
    device.finger(0, 'up', 0, 0);
    device.sync();
    await inputs.until(2, 'a tap');
    assert.deepEqual(
      inputs.touches.map(({ phase, x, y }) => [phase, x, y]),
      [
        ['down', 360.088, 180.088],
        ['up', 360.088, 180.088],
      ],
    );
    wellFormed(inputs);
  });

  it('begins with a finger that lies on the glass already', async () => {
    const inputs = new RecordingInputs();
    const device = new FakeDevice(SLOTS);
    device.finger(2, 'down', 10, 10);
    device.sync();
    await using _ = await opened(inputs, device);
    await inputs.until(1, 'it is down');
    assert.deepEqual([inputs.touches[0]?.id, inputs.touches[0]?.phase], [2, 'down']);
  });

  for (const [what, settings, spoil, says] of [
    ['is not there', {}, (device) => device.plug(false), /ENOENT/],
    ['has a name that nobody has', { device: undefined, name: 'Goodix*' }, () => undefined, /no device named Goodix/],
    ['tells no places', {}, () => undefined, /tells no places of fingers/],
    ['is another program’s', { grab: true, touch: undefined }, (device) => (device.grabbed = 'other'), /EBUSY/],
    ['has an unknown key', { touch: undefined, keys: { KEY_NOPE: 'x' } }, () => undefined, /KEY_NOPE is no name/],
  ] as readonly (readonly [string, object, (device: FakeDevice) => unknown, RegExp])[])
    it(`says why nothing comes from a device that ${what}, and holds nothing open`, async () => {
      const inputs = new RecordingInputs();
      const device = new FakeDevice();
      spoil(device);
      await using at = await opened(inputs, device, settings as Partial<DeviceSettings>);
      assert.match(at.source.problem ?? '', says);
      assert.match(inputs.problems[0] ?? '', says);
      assert.equal(device.open, 0);
      assert.equal(at.logged.filter(({ level }) => level === 'warn').length, 1);
      await at.clock.advance(5_000);
      assert.equal(at.logged.filter(({ level }) => level === 'warn').length, 1, 'the same reason is logged once');
    });

  it('takes a device for itself where that is wanted', async () => {
    const device = new FakeDevice(SLOTS);
    await using _ = await opened(new RecordingInputs(), device, { grab: true });
    assert.equal(device.grabbed, 'ours');
  });

  it('looks when a node comes, and not by the clock where the folder can be watched', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'input-'));
    try {
      const inputs = new RecordingInputs();
      const device = new FakeDevice(SLOTS);
      device.plug(false);
      await using at = await opened(inputs, device, {}, folder);
      await at.clock.advance(3_600_000);
      device.plug(true);
      await at.clock.advance(3_600_000);
      assert.notEqual(at.source.problem, undefined, 'nobody said that something came');
      await writeFile(join(folder, 'event7'), '');
      await eventually(async () => {
        await at.clock.advance(1_000);
        return at.source.problem === undefined;
      }, 'the device that came');
      assert.deepEqual(inputs.problems.at(-1), undefined);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('finds a device whose folder was removed with the last node and came again with the next', async () => {
    const above = await mkdtemp(join(tmpdir(), 'input-'));
    const folder = join(above, 'input');
    try {
      await mkdir(folder);
      const inputs = new RecordingInputs();
      const device = new FakeDevice(SLOTS);
      device.plug(false);
      await using at = await opened(inputs, device, {}, folder);
      await at.clock.advance(3_600_000);
      await rm(folder, { recursive: true });
      for (let turn = 0; turn < 100; turn += 1) await setImmediate(); // the system tells of the removal
      await at.clock.advance(3_600_000);
      device.plug(true);
      await mkdir(folder);
      await writeFile(join(folder, 'event7'), '');
      await eventually(async () => {
        await at.clock.advance(60_000);
        return at.source.problem === undefined;
      }, 'the device that came');
    } finally {
      await rm(above, { recursive: true, force: true });
    }
  });

  it('finds a device by the name that it gives itself, under any number', async () => {
    const about = await mkdtemp(join(tmpdir(), 'about-'));
    try {
      for (const [event, name] of [
        ['event10', 'Goodix Capacitive TouchScreen'],
        ['event2', 'gpio-keys'],
        ['mouse0', 'Goodix of another kind'],
      ] as const) {
        await mkdir(join(about, event, 'device'), { recursive: true });
        await writeFile(join(about, event, 'device/name'), `${name}\n`);
      }
      const folders = { nodes: '/dev/input', about };
      assert.equal(await findNode({ name: 'Goodix*' }, folders), '/dev/input/event10');
      assert.equal(await findNode({ name: 'gpio-keys' }, folders), '/dev/input/event2');
      assert.equal(await findNode({ name: 'Goodix' }, folders), undefined);
    } finally {
      await rm(about, { recursive: true, force: true });
    }
  });

  it('knows what a star stands for', () => {
    for (const [name, pattern, same] of [
      ['abc', 'abc', true],
      ['abc', '*', true],
      ['', '*', true],
      ['abc', 'a*c', true],
      ['ac', 'a*c', true],
      ['a', 'a*a', false],
      ['abcbc', 'a*bc', true],
      ['axbyc', 'a*b*c', true],
      ['axyc', 'a*b*c', false],
      ['ab', 'a*b*b', false],
      ['a.c', 'a?c', false],
    ] as const)
      assert.equal(matches(name, pattern), same, `${name} ${pattern}`);
  });

  it('runs as a plugin: it names the fault of a node that is no input device', async () => {
    const inputs = new RecordingInputs();
    const devices = [{ id: 'panel', device: '/dev/input/event9999', touch: {} }];
    await using host = await createTestHost(plugin, {
      manifest: MANIFEST,
      config: { devices },
      services: [[inputsRef, inputs]],
    });
    const health = await eventually(() => healthOf(host, 'input-evdev.panel'), 'its health');
    assert.equal(health.status, 'waiting');
    assert.match(health.message ?? '', /ENOENT/);
    await eventually(() => inputs.sources.length === 1, 'its source');
    assert.deepEqual(inputs.sources[0]?.description, { id: 'evdev:panel', touch: true, keys: [], injected: false });
  });

  it('has no name of a key twice', () => {
    assert.equal(new Set(KEY_NAMES).size, KEY_NAMES.length);
    assert.ok(ABS.slot > 0);
  });
});
