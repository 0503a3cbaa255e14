import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { type Fixture, startLogs } from './fixture.ts';

after(leakCheck());

/** The deadline of a call is of another clock than that of the test. */
const run = (logs: Fixture, name: string, params: object) => logs.table.run(name, params, { deadline: Infinity });

describe('levels of components', () => {
  it('hold for a while, name the caller, and end by themselves', async () => {
    const clock = new VirtualClock({ now: 1_800_000_000_000 });
    await using logs = await startLogs({}, clock);
    const asked = await run(logs, 'logs.setLevel', { component: 'spi', level: 'debug', forMs: 60_000 });
    const { by, until } = asked as { by: string; until: number };
    assert.equal(logs.control.component('spi').threshold, 20);
    const told = async () => ((await run(logs, 'logs.levels', {})) as { components: object[] }).components;
    assert.deepEqual(await told(), [
      { component: 'core', level: 'info' },
      { component: 'spi', level: 'debug', until, by },
    ]);
    const line = logs.host.logged.find(({ message }) => message.includes('spi logs from debug on'));
    assert.equal((line as { fields: { by: string } } | undefined)?.fields.by, by);
    await clock.advance(60_000);
    assert.equal(logs.control.component('spi').threshold, 30);
    assert.deepEqual(await told(), [
      { component: 'core', level: 'info' },
      { component: 'spi', level: 'info' },
    ]);
  });

  it('asked for again, the last one counts with its own end', async () => {
    const clock = new VirtualClock({ now: 1_800_000_000_000 });
    await using logs = await startLogs({}, clock);
    const set = (level: string, forMs: number) => run(logs, 'logs.setLevel', { component: 'spi', level, forMs });
    await set('debug', 10_000);
    await set('error', 50_000);
    await clock.advance(20_000);
    assert.equal(logs.control.component('spi').threshold, 50);
    await clock.advance(40_000);
    assert.equal(logs.control.component('spi').threshold, 30);
  });

  it('end with the plugin, and are for components that there are', async () => {
    const logs = await startLogs();
    await run(logs, 'logs.setLevel', { component: 'core', level: 'debug', forMs: 60_000 });
    for (const component of ['nobody', '../core', '__proto__'])
      assert.equal(
        await codeOf(run(logs, 'logs.setLevel', { component, level: 'debug', forMs: 1_000 })),
        'PLUGIN_NOT_FOUND',
      );
    await logs.host.stop();
    assert.equal(logs.control.component('core').threshold, 30);
    assert.deepEqual(logs.host.leaks(), []);
  });
});

describe('the flight recorder', () => {
  const files = (core: string) => {
    try {
      return readdirSync(join(core, '../flight'))
        .filter((name) => name.endsWith('.jsonl'))
        .sort();
    } catch {
      return [];
    }
  };

  it('is written on request, five times at most', async () => {
    const clock = new VirtualClock({ now: 1_800_000_000_000 });
    await using logs = await startLogs({}, clock);
    for (let n = 0; n < 8; n++) {
      logs.control.ring!.add(`{"n":${n}}\n`);
      await run(logs, 'logs.dump', {});
      await clock.advance(5);
    }
    assert.equal(files(logs.core).length, 5);
    const text = readFileSync(join(logs.core, '../flight', files(logs.core).at(-1)!), 'utf8')
      .trim()
      .split('\n');
    assert.deepEqual(
      text.slice(1),
      Array.from({ length: 8 }, (_, n) => `{"n":${n}}`),
    );
    assert.match(text[0]!, /8 lines of the flight recorder because of /);
  });

  it('is written down when a plugin fails and when an app is in quarantine, once in a while for each', async () => {
    await using logs = await startLogs();
    const fails = (topic: string, payload: object) => logs.host.publish(topic, payload);
    await fails('plugin.state', { plugin: 'spi', state: 'active' });
    await fails('app.state', { app: 'com.example.tea', state: 'failed' });
    await fails('plugin.state', { plugin: 'spi', state: 'failed' });
    await fails('plugin.state', { plugin: 'spi', state: 'failed' });
    await fails('app.state', { app: 'com.example.tea', state: 'quarantined' });
    const names = await eventually(() => files(logs.core).length === 2 && files(logs.core), 'both are written');
    assert.deepEqual(names.map((name) => name.replace(/^\d+-/, '')).sort(), ['com.example.tea.jsonl', 'spi.jsonl']);
  });

  it('records nothing where the SKU switches it off', async () => {
    await using logs = await startLogs({ recorder: { on: false } });
    assert.equal(logs.control.ring, undefined);
    assert.equal(await codeOf(run(logs, 'logs.dump', {})), 'UNAVAILABLE');
    assert.deepEqual(files(logs.core), []);
  });
});
