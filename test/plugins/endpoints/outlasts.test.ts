/** What the state of each kind outlasts: the table of docs/cbp.md section 19, row by row, on the simulated bridge. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { leakCheck } from '@device-core/plugin-api/testing';
import { parse, stringify } from 'yaml';
import { type BusCore, eventually, startBuses } from '../../fixtures/bus-core.ts';

after(leakCheck());

const FILTER = { id: 0x123, mask: 0x7ff };
const PLUGINS = {
  gpio: {
    version: '^1.0.0',
    config: {
      handles: [
        { name: 'relay', endpoint: 'gpio0', line: 1, direction: 'out', initial: 1 },
        { name: 'valve', endpoint: 'gpio0', line: 2, direction: 'out', initial: 1, onReset: 'initial' },
        { name: 'door', endpoint: 'gpio0', line: 20, direction: 'in', pull: 'none' },
      ],
    },
  },
  i2c: {
    version: '^1.0.0',
    config: { handles: [{ name: 'memory', endpoint: 'i2c0', address: 0x50 }], speeds: { i2c0: 400_000 } },
  },
  uart: { version: '^1.0.0', config: { handles: [{ name: 'line', endpoint: 'uart0', baud: 115_200 }] } },
  can: {
    version: '^1.0.0',
    // A frame that nobody hears is kept away by another filter.
    config: { events: true, handles: [{ name: 'motor', endpoint: 'can0', nominal: 500_000, filters: [FILTER] }] },
  },
  pio: { version: '^1.0.0', config: { handles: [{ name: 'machine', endpoint: 'pio0', machine: 0 }] } },
};

interface State {
  readonly relay: number;
  readonly valve: number;
  readonly pull: string;
  readonly hz: number;
  readonly baud: number;
  readonly nominal: number;
  readonly masks: readonly number[];
  readonly programs: number;
}

const GIVEN: State = {
  relay: 1,
  valve: 1,
  pull: 'none',
  hz: 400_000,
  baud: 115_200,
  nominal: 500_000,
  masks: [0x8000_07ff],
  programs: 0,
};
/** What calls have made of it. */
const CHANGED: State = { ...GIVEN, relay: 0, valve: 0, pull: 'up', baud: 9_600, programs: 1 };

class Device implements AsyncDisposable {
  readonly core: BusCore;
  readonly resets: string[] = [];

  constructor(core: BusCore) {
    this.core = core;
  }

  static async open(): Promise<Device> {
    const device = new Device(await startBuses(PLUGINS));
    await device.is(GIVEN);
    const { call } = device.core;
    await call('gpio.write', { handle: 'relay', value: 0 });
    await call('gpio.write', { handle: 'valve', value: 0 });
    await call('gpio.configure', { handle: 'door', pull: 'up' });
    await call('uart.configure', { handle: 'line', baud: 9_600 });
    await call('pio.load', { handle: 'machine', program: [0] });
    await device.is(CHANGED);
    return device;
  }

  async #settings(endpoint: string): Promise<Record<string, never>> {
    return (await this.core.sim.ask({ settings: { endpoint } })).settings as Record<string, never>;
  }

  async state(): Promise<State> {
    const lines = (await this.#settings('gpio0')).lines as unknown as { level: number; pull: string }[];
    const { nominal, filters } = await this.#settings('can0');
    return {
      relay: lines[1]!.level,
      valve: lines[2]!.level,
      pull: lines[20]!.pull,
      hz: (await this.#settings('i2c0')).hz!,
      baud: (await this.#settings('uart0')).baud!,
      nominal: nominal!,
      masks: (filters as unknown as { mask: number }[]).map(({ mask }) => mask),
      programs: (await this.#settings('pio0')).programs!,
    };
  }

  /** It comes to be so, and stays. */
  async is(wanted: State): Promise<void> {
    let last: State | undefined;
    try {
      await eventually('the state', async () => {
        last = await this.state();
        return isDeepStrictEqual(last, wanted) ? true : undefined;
      });
    } catch {
      assert.deepEqual(last, wanted);
    }
    assert.deepEqual(await this.state(), wanted);
  }

  /** Requests that the bridge has had, without those of SYS. */
  async requests(): Promise<number> {
    const { endpoints } = (await this.core.sim.ask({ counts: {} })) as {
      endpoints: Record<string, { requests: number }>;
    };
    return Object.entries(endpoints).reduce((sum, [name, { requests }]) => sum + (name === 'sys' ? 0 : requests), 0);
  }

  async link(): Promise<{ readonly sid?: number; readonly bootId?: number }> {
    return (await this.core.call<{ bridge: object }>('system.health', {})).bridge;
  }

  becomes(status: string): Promise<boolean> {
    return eventually(`gpio is ${status}`, async () =>
      (await this.core.health('gpio')).status === status ? true : undefined,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.core[Symbol.asyncDispose]();
  }
}

const OUTAGES: readonly (readonly [what: string, begin: object, end: object])[] = [
  ['silence of the link', { mute: { muted: true } }, { mute: { muted: false } }],
  ['garbage on the link', { faults: { zeroed: 1 } }, { faults: {} }],
];

describe('state of the bridge', () => {
  it('outlasts silence, garbage and a restart of the host of the link, and nothing is given again', async () => {
    await using device = await Device.open();
    const { bootId } = await device.link();
    const before = await device.requests();
    for (const [what, begin, end] of OUTAGES) {
      const { sid } = await device.link();
      await device.core.sim.ask(begin);
      await device.becomes('waiting');
      await device.core.sim.ask(end);
      await device.becomes('okay');
      assert.notEqual((await device.link()).sid, sid, `${what}: another session`);
      await device.is(CHANGED);
    }
    assert.equal(await device.requests(), before);
    await device.core.core.service(pluginManager).restart('cbp');
    await device.becomes('okay');
    assert.equal((await device.link()).bootId, bootId);
    await device.is(CHANGED);
  });

  it('is given again after a reset of the bridge, but for programs', async () => {
    await using device = await Device.open();
    const { bootId } = await device.link();
    await device.core.sim.ask({ crash: { transactions: 1, ms: 50 } });
    await eventually('another run of the bridge', async () =>
      ![undefined, bootId].includes((await device.link()).bootId) ? true : undefined,
    );
    await device.is({ ...CHANGED, valve: 1, programs: 0 });
  });

  it('is given again at once where one endpoint was reset', async () => {
    await using device = await Device.open();
    for (const endpoint of ['gpio0', 'i2c0', 'uart0', 'can0'])
      await device.core.call('bridge.resetEndpoint', { endpoint });
    await device.is({ ...CHANGED, valve: 1 });
  });

  it('outlasts a restart of its plugin; what calls had set is as the SKU has it again, but for levels and programs', async () => {
    await using device = await Device.open();
    const manager = device.core.core.service(pluginManager);
    for (const id of Object.keys(PLUGINS)) await manager.restart(id);
    await device.becomes('okay');
    await device.is({ ...GIVEN, relay: 0, valve: 0, programs: 1 });
    // And the levels are known: a reset of the bridge does not change them either.
    await device.core.sim.ask({ crash: { transactions: 1, ms: 50 } });
    await device.is({ ...GIVEN, relay: 0, valve: 1, programs: 0 });
  });

  it('follows a live change of the SKU, but no output switches', async () => {
    await using device = await Device.open();
    const { core } = device.core;
    const sku = parse(readFileSync(core.skuFile, 'utf8'));
    const { gpio, i2c, uart, can } = sku.plugins;
    gpio.config.handles[0].safe = 0;
    gpio.config.handles.push({ name: 'lamp', endpoint: 'gpio0', line: 3, direction: 'out', initial: 1 });
    i2c.config.speeds = {};
    uart.config.handles[0].baud = 38_400;
    can.config.handles.push({ name: 'all', endpoint: 'can0', nominal: 500_000 });
    writeFileSync(core.skuFile, stringify(sku));
    await core.service(pluginManager).apply();
    await device.becomes('okay');
    await device.is({ ...GIVEN, relay: 0, valve: 0, hz: 100_000, baud: 38_400, masks: [0], programs: 1 });
  });
});
