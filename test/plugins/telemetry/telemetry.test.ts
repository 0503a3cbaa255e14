/** Consent and what is shown: the plugin with an outbox in memory and a collector on the loopback. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { outbox } from '@device-core/plugin-api/inside/services/outbox';
import { telemetry } from '@device-core/plugin-api/inside/services/telemetry';
import { device as deviceRef } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/state/telemetry/index.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { Collector, FakeOutbox } from './fakes.ts';
import { manifest, NOW, start } from './started.ts';

after(leakCheck());

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Metrics of a body, by name. */
function metricsIn(body: string): readonly string[] {
  const [{ scopeMetrics }] = JSON.parse(body).resourceMetrics;
  return scopeMetrics[0].metrics.map(({ name }: { name: string }) => name);
}

describe('the consent', () => {
  it('is off at first: nothing is opened, no timer runs, and no line of the log is looked at', async () => {
    await using collector = await Collector.start();
    const { host, table, clock, box, log } = await start({ endpoint: collector.url });
    await using _host = host;
    log(60, 'it failed');
    await clock.advance(24 * 3_600_000);
    assert.equal(box.queues.size, 0);
    assert.deepEqual(collector.received, []);
    const status = await table.run<{ level: string; unsent: string; levels: readonly { level: string }[] }>(
      'telemetry.status',
      {},
    );
    assert.deepEqual([status.level, status.unsent], ['off', 'there is no consent']);
    assert.deepEqual(
      status.levels.map(({ level }) => level),
      ['off', 'crash', 'usage', 'full'],
    );
    assert.deepEqual(await host.service(telemetry).consent(), { level: 'off' });
  });

  it('is kept with time, author and shown text, and published as an event', async () => {
    const { host, consent, kept } = await start({ config: { texts: { usage: 'We look how it is used.' } } });
    await using _host = host;
    const heard: string[] = [];
    await host.service(telemetry).onChange(({ level }) => heard.push(level));
    await consent('usage');
    const { device, ...told } = kept();
    assert.deepEqual(told, { format: 1, level: 'usage', at: NOW, by: 'operator', text: 'We look how it is used.' });
    assert.match(device, UUID);
    const events = host.published.filter(({ topic }) => topic === 'telemetry.consent');
    assert.deepEqual(
      events.map(({ payload }) => payload),
      [{ level: 'usage', by: 'operator' }],
    );
    assert.deepEqual(heard, ['usage']);
  });

  it('is told to 64 listeners of a plugin, the newest, and to those of another one all the same', async () => {
    const { host, consent } = await start();
    await using _host = host;
    const heard: number[] = [];
    const [a, b] = ['a', 'b'].map((plugin) => host.serviceFor(telemetry, { plugin }));
    await b!.onChange(() => void heard.push(-1));
    for (let index = 0; index < 65; index++) await a!.onChange(() => void heard.push(index));
    await consent('usage');
    assert.deepEqual([heard.length, heard[0], heard[1]], [65, -1, 1]);
  });

  const damaged: readonly (readonly [what: string, text: string, told: RegExp])[] = [
    ['is empty', '', /STATE_CORRUPT/],
    ['is cut', '{"format":1,"level":"fu', /STATE_CORRUPT/],
    ['holds a level that is none', '{"format":1,"level":"everything"}', /STATE_CORRUPT/],
    ['is of a newer Core', '{"format":9,"level":"full"}', /STATE_NEWER/],
  ];
  for (const [what, text, told] of damaged)
    it(`counts as none where its file ${what}, and this is said`, async () => {
      await using collector = await Collector.start();
      const first = await start({ endpoint: collector.url });
      const { paths } = first.host.device;
      mkdirSync(join(paths.var, 'telemetry'), { recursive: true });
      writeFileSync(first.file, text);
      const { host, table } = first;
      await using _host = host;
      // The same folder, read anew.
      const again = await createTestHost(plugin, {
        manifest,
        config: { endpoint: collector.url },
        clock: virtualClock({ now: NOW }),
        services: [[operations, new TestOperations()], [outbox, new FakeOutbox()], deviceAt(host)],
      });
      await using _again = again;
      assert.deepEqual(await again.service(telemetry).consent(), { level: 'off' });
      const warned: string[] = [];
      await again.hook('health.collect').promise({
        add: () => undefined,
        bridge: () => undefined,
        warn: (code, message) => warned.push(`${code} ${message}`),
      });
      assert.match(warned.join(), told);
      assert.ok(table.names.includes('telemetry.consent'));
    });

  it('without an endpoint in the SKU sends nothing, and this is said', async () => {
    const { host, consent, health, box } = await start();
    await using _host = host;
    assert.doesNotMatch(await health(), /TELEMETRY/);
    await consent('crash');
    assert.match(await health(), /^TELEMETRY_UNSENT telemetry is not sent: the SKU names no endpoint$/m);
    assert.equal(box.queues.size, 0);
    await consent('off');
    assert.doesNotMatch(await health(), /TELEMETRY/);
  });

  it('that is withdrawn empties the queues before it is answered, and ends timers and queues', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) => response.writeHead(503).end();
    const { host, box, clock, consent, log } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('full');
    await host.settle();
    log(50, 'it failed');
    await clock.advance(60_000);
    await eventually(
      () => box.queue('telemetry').waiting.length > 0 && box.queue('logs').waiting.length > 0,
      'both wait',
    );
    await consent('crash');
    assert.deepEqual([box.queue('telemetry').waiting, box.queue('logs').waiting], [[], []], 'less is as good as none');
    assert.ok(box.queue('telemetry').isOpen);
    await clock.advance(60_000);
    await eventually(() => box.queue('telemetry').waiting.length > 0, 'the next');
    await consent('off');
    assert.deepEqual([box.queue('telemetry').waiting, box.queue('logs').waiting], [[], []]);
    assert.ok(!box.queue('telemetry').isOpen && !box.queue('logs').isOpen);
    const { length } = collector.received;
    await clock.advance(3_600_000);
    assert.equal(collector.received.length, length);
  });

  it('that is withdrawn while the metrics are on their way keeps them from the queue', async () => {
    await using collector = await Collector.start();
    const { host, box, clock, consent, meter } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    const held = Promise.withResolvers<void>();
    const collect = meter.collect.bind(meter);
    meter.collect = async () => {
      await held.promise;
      return await collect();
    };
    await clock.advance(60_000);
    const withdrawn = consent('crash');
    held.resolve();
    await withdrawn;
    await turns();
    assert.deepEqual(
      collector.received.map(({ body }) => body).filter((body) => body.includes('device.test.uses')),
      [],
    );
  });

  it('that is withdrawn without an outbox empties it when it comes', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) => response.writeHead(503).end();
    const { host, box, clock, consent, kept } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    await eventually(() => box.queue('telemetry').waiting.length > 0, 'it waits');
    await host.disappear(outbox);
    assert.ok(!box.queue('telemetry').isOpen);
    await consent('off');
    assert.equal(kept().owed, true);
    assert.equal(box.queue('telemetry').waiting.length, 1);
    await host.appear(outbox, box);
    await eventually(() => box.queue('telemetry').waiting.length === 0 && kept().owed === undefined, 'it is empty');
    assert.ok(!box.queue('telemetry').isOpen);
  });

  it('that is withdrawn while the address is a secret that is gone empties queues that are not open', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) => response.writeHead(503).end();
    const vault = new Map([['collector', collector.url]]);
    const { host, box, clock, consent, kept, changed } = await start({ endpoint: { secret: 'collector' }, vault });
    await using _host = host;
    await consent('full');
    await eventually(() => box.queues.has('logs'), 'the queues');
    await clock.advance(60_000);
    await eventually(() => box.queue('telemetry').waiting.length > 0, 'it waits');
    vault.delete('collector');
    for (const listener of changed) listener('collector');
    await eventually(() => !box.queue('telemetry').isOpen, 'a closed queue');
    assert.ok(box.queue('telemetry').waiting.length > 0);
    await consent('crash');
    assert.deepEqual(box.queue('telemetry').waiting, []);
    assert.equal(kept().owed, undefined);
  });

  it('that is withdrawn stays owed while a queue cannot be emptied, and nothing is sent before', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) => response.writeHead(503).end();
    const { host, box, clock, consent, kept } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('full');
    await eventually(() => box.queues.has('logs'), 'the queues');
    await clock.advance(60_000);
    await eventually(() => box.queue('telemetry').waiting.length > 0, 'it waits');
    box.queue('telemetry').failure = new CoreError('STORAGE_FAILED', { file: 'telemetry', reason: 'it is broken' });
    await assert.rejects(consent('crash'), { code: 'STORAGE_FAILED' });
    await assert.doesNotReject(consent('usage'));
    await eventually(() => !box.queue('telemetry').isOpen, 'a closed queue');
    assert.deepEqual([kept().level, kept().owed], ['usage', true]);
    const { length } = collector.received;
    await clock.advance(3_600_000);
    assert.equal(collector.received.length, length);
    box.queue('telemetry').failure = undefined;
    await host.disappear(outbox);
    await host.appear(outbox, box);
    await eventually(() => kept().owed === undefined && box.queue('telemetry').isOpen, 'it is empty, and sends again');
    assert.deepEqual(box.queue('telemetry').waiting, []);
  });

  it('holds for the named collector: another one in a rotated secret gets only new telemetry', async () => {
    await using former = await Collector.start();
    former.answer = (response) => response.writeHead(503).end();
    await using other = await Collector.start();
    const vault = new Map([['collector', former.url]]);
    const { host, table, box, clock, consent, changed } = await start({ endpoint: { secret: 'collector' }, vault });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('logs'), 'the queues');
    await clock.advance(60_000);
    const [old = ''] = await eventually(() => former.of('/v1/metrics').length > 0 && former.of('/v1/metrics'), 'a try');
    vault.set('collector', other.url);
    for (const listener of changed) listener('collector');
    const told = async () => (await table.run<{ to?: string }>('telemetry.status', {})).to;
    await eventually(async () => (await told()) === new URL(other.url).host, 'the other address');
    const { length } = former.received;
    await clock.advance(60_000);
    await eventually(() => other.of('/v1/metrics').length > 0, 'a push');
    assert.ok(!other.of('/v1/metrics').includes(old));
    assert.equal(former.received.length, length);
  });

  it('is asked for with the name of the receiver, if the SKU has it in clear', async () => {
    const cases = [
      ['https://collector.example/base', 'collector.example:443'],
      [{ secret: 'collector' }, undefined],
      ['http://collector.example', undefined],
    ] as const;
    for (const [endpoint, to] of cases) {
      const { host, table } = await start({ endpoint });
      await using _host = host;
      const status = await table.run<{ level: string; to?: string; unsent?: string }>('telemetry.status', {});
      assert.deepEqual([status.level, status.to, status.unsent], ['off', to, 'there is no consent']);
    }
  });

  const apps: readonly (readonly [held: string, code: string])[] = [
    ['system.metrics', 'CAPABILITY_DENIED'],
    ['system.logs', 'CAPABILITY_DENIED'],
    ['system.telemetry', 'CALLER_DENIED'],
    ['system', 'CALLER_DENIED'],
  ];
  for (const [held, code] of apps)
    it(`is nothing that an app decides which holds ${held}`, async () => {
      const { host, table } = await start({ grants: { 'app.com.example.a': [held] } });
      await using _host = host;
      const caller = { kind: 'app', id: 'com.example.a' } as const;
      for (const [name, params] of [
        ['telemetry.consent', { level: 'full' }],
        ['telemetry.reset', {}],
      ] as const)
        await assert.rejects(table.run(name, params, { caller }), { code }, name);
      assert.deepEqual(await host.service(telemetry).consent(), { level: 'off' });
    });

  it('holds at once where the disk takes nothing, and says that it is not kept', async () => {
    await using collector = await Collector.start();
    const { host, box, consent, file, health } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    rmSync(join(file, '..'), { recursive: true });
    writeFileSync(join(file, '..'), 'in the way');
    await assert.rejects(consent('off'), (error: { code: string }) => /^STORAGE_|^STATE_/.test(error.code));
    assert.deepEqual((await host.service(telemetry).consent()).level, 'off');
    assert.ok(!box.queue('telemetry').isOpen);
    assert.match(await health(), /telemetry\.consent/);
    rmSync(join(file, '..'));
  });

  const LEVELS = [
    ['crash', ['device.test.failures']],
    ['usage', ['device.test.failures', 'device.test.uses']],
    ['full', ['device.test.failures', 'device.test.names', 'device.test.uses']],
  ] as const;
  for (const [level, names] of LEVELS)
    it(`to ${level} sends ${names.length} of three metrics, and is shown before it is given`, async () => {
      await using collector = await Collector.start();
      const { host, table, clock, box, consent } = await start({ endpoint: collector.url });
      await using _host = host;
      const before = await table.run<{ metrics: string }>('telemetry.show', { level });
      assert.deepEqual(metricsIn(before.metrics).toSorted(), names);
      await consent(level);
      await eventually(() => box.queues.has('telemetry'), 'the queue');
      await clock.advance(60_000);
      const [body = ''] = await eventually(
        () => collector.of('/v1/metrics').length > 0 && collector.of('/v1/metrics'),
        'a push',
      );
      assert.deepEqual(metricsIn(body).toSorted(), names);
    });
});

/** The device of another host: its folders. */
function deviceAt(host: { readonly device: object }) {
  return given(deviceRef, { info: async () => host.device as never });
}

describe('the shown telemetry', () => {
  it('goes next, to the byte: metrics and lines of the log', async () => {
    await using collector = await Collector.start();
    const { host, table, clock, box, consent, log } = await start({ endpoint: `${collector.url}/base/` });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('logs'), 'the queues');
    log(40, 'a warning', {
      plugin: 'voice',
      code: 'BUSY',
      heard: 'private words',
      err: { type: 'Error', stack: 'at x' },
    });
    await clock.advance(20_000);
    log(50, 'an error');
    const shown = await table.run<{ metrics: string; logs?: string }>('telemetry.show', {});
    const again = await table.run<{ metrics: string }>('telemetry.show', {});
    assert.equal(again.metrics, shown.metrics);
    await clock.advance(60_000);
    const metrics = await eventually(() => collector.of('/base/v1/metrics')[0], 'a push of metrics');
    assert.equal(metrics, shown.metrics);
    const logs = await eventually(
      () => collector.of('/base/v1/logs').find((body) => body.includes('an error')),
      'lines',
    );
    assert.equal(logs, shown.logs);
    assert.ok(!collector.received.some(({ body }) => body.includes('private words')), 'what is beside a message stays');
  });

  const changes = [
    ['crash', 'full', ['device.test.failures', 'device.test.names', 'device.test.uses']],
    ['full', 'crash', ['device.test.failures']],
  ] as const;
  for (const [before, after, names] of changes)
    it(`is of the new level after ${before} became ${after}, and so is the next push`, async () => {
      await using collector = await Collector.start();
      const { host, table, clock, box, consent } = await start({ endpoint: collector.url });
      await using _host = host;
      await consent(before);
      await eventually(() => box.queues.has('telemetry'), 'the queue');
      const old = await table.run<{ metrics: string }>('telemetry.show', {});
      await consent(after);
      const shown = await table.run<{ metrics: string }>('telemetry.show', {});
      assert.notEqual(shown.metrics, old.metrics);
      assert.deepEqual(metricsIn(shown.metrics).toSorted(), names);
      await clock.advance(60_000);
      assert.equal(await eventually(() => collector.of('/v1/metrics')[0], 'a push'), shown.metrics);
    });

  it('holds no name of the device but a random one, which reset changes with what waits', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) => response.writeHead(503).end();
    const { host, table, clock, box, consent } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    const name = (body: string) =>
      JSON.parse(body).resourceMetrics[0].resource.attributes.find(
        ({ key }: { key: string }) => key === 'service.instance.id',
      ).value.stringValue;
    const before = name((await table.run<{ metrics: string }>('telemetry.show', {})).metrics);
    assert.match(before, UUID);
    await clock.advance(60_000);
    await eventually(() => box.queue('telemetry').waiting.length > 0, 'it waits');
    const { device } = await table.run<{ device: string }>('telemetry.reset', {});
    assert.notEqual(device, before);
    assert.deepEqual(box.queue('telemetry').waiting, []);
    assert.equal(name((await table.run<{ metrics: string }>('telemetry.show', {})).metrics), device);
    await consent('off');
    assert.deepEqual(await table.run('telemetry.reset', {}), {});
  });

  it('is a word where nothing is sent', async () => {
    const { host, table } = await start();
    await using _host = host;
    assert.match((await table.run<{ note: string }>('telemetry.show', {})).note, /nothing is sent/);
  });

  it('waits for a clock that is right', async () => {
    await using collector = await Collector.start();
    const { host, table, clock, box, consent } = await start({ endpoint: collector.url, now: 5_000 });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    await turns();
    assert.deepEqual(collector.received, []);
    assert.match((await table.run<{ note: string }>('telemetry.show', {})).note, /the time is not known/);
  });
});
