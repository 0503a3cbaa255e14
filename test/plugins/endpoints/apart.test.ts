/** Endpoints whose source, whose hub and whose users stand in different processes, and what each of them may do to the others. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { SkuPlugin } from '@device-core/plugin-api';
import { type PluginStatus, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type GpioEdge, gpio } from '@device-core/plugin-api/services/gpio';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startBuses } from '../../fixtures/bus-core.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const HANDLES = [
  { name: 'relay', endpoint: 'gpio0', line: 1, direction: 'out', initial: 1 },
  { name: 'contact', endpoint: 'gpio0', line: 9, direction: 'in', edge: 'both' },
];
type Level = NonNullable<SkuPlugin['isolation']>;

async function start(levels: { readonly endpoints: Level; readonly cbp: Level; readonly gpio: Level }) {
  const at = (isolation: Level, config: SkuPlugin['config'] = {}): SkuPlugin => ({
    version: '^1.0.0',
    isolation,
    config,
  });
  const device = await startBuses({
    endpoints: at(levels.endpoints),
    cbp: at(levels.cbp),
    gpio: at(levels.gpio, { handles: HANDLES }),
  });
  const edges: GpioEdge[] = [];
  device.core.service(gpio).onEdge('contact', (edge) => void edges.push(edge));
  const level = async () => (await device.call<{ value: number }>('gpio.read', { handle: 'contact' })).value;
  const link = async () => (await device.call<{ bridge: { sid?: number } }>('system.health', {})).bridge;
  /** Writes a level that the line does not have, and waits for its edge. */
  const toggle = async () => {
    const value = (await level()) ? 0 : 1;
    const before = edges.length;
    await device.call('gpio.write', { handle: 'relay', value });
    assert.equal(await level(), value);
    await eventually(() => edges.length === before + 1, 'the edge, once');
  };
  const works = () =>
    eventually(async () => (await device.health('gpio')).status === 'okay', 'gpio is okay', { ms: 20_000 });
  return { device, level, link, toggle, works };
}

/** Children of this process that are not the simulator: plugins in processes of their own. */
function guests(): readonly number[] {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').map(Number);
  return children.filter((pid) => !readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('port-sim'));
}

describe('endpoints in processes of their own', () => {
  it('carries requests and events over two borders, and a source that is killed comes back', async () => {
    const { device, toggle, works, level } = await start({ endpoints: 'inline', cbp: 'process', gpio: 'worker' });
    await using _ = device;
    await toggle();
    await toggle();
    await toggle();
    assert.equal(await level(), 0);
    const killed = guests();
    assert.equal(killed.length, 1);
    process.kill(killed[0]!, 'SIGKILL');
    await eventually(async () => (await device.health('gpio')).status === 'waiting', 'gpio waits for its endpoint');
    const refused = await device.refusal('gpio.read', { handle: 'contact' });
    assert.equal(refused.code, 'NOT_INITIALIZED');
    await works();
    assert.equal(await level(), 0, 'the level that was written last');
    await toggle();
  });

  it('restarts without a new session of the bridge', async () => {
    const { device, toggle, works, link } = await start({ endpoints: 'worker', cbp: 'inline', gpio: 'inline' });
    await using _ = device;
    await toggle();
    const { sid } = await link();
    const manager = device.core.service(pluginManager);
    const { state }: PluginStatus = await manager.restart('endpoints');
    assert.equal(state, 'active');
    await works();
    await toggle();
    assert.equal((await link()).sid, sid);
  });
});
