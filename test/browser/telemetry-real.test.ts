/** Telemetry and traces on the page, with what a real device says: a collector that takes its pushes, and requests that leave traces. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../fixtures/eventually.ts';
import { Collector } from '../plugins/telemetry/fakes.ts';
import { noBrowser } from './browser.ts';
import { confirm } from './confirming.ts';
import { barriers, Device, sideways } from './harness.ts';

after(leakCheck());

const SIMULATOR = resolve(import.meta.dirname, '../../manifests/skus/simulator.yaml');
const SAMPLED = '4bf92f3577b34da6a3ce929d0e0e4736';
const FAILED = '5bf92f3577b34da6a3ce929d0e0e4736';

describe('telemetry of a real device, on the page', { skip: noBrowser }, () => {
  let device: Device;
  let collector: Collector;
  let folder: string;
  before(async () => {
    collector = await Collector.start();
    folder = mkdtempSync(join(tmpdir(), 'dc-sku-'));
    const sku = join(folder, 'sku.yaml');
    const telemetry = { version: '^1.0.0', config: { endpoint: collector.url, intervalMs: 1_000 } };
    const lines = { skuVersion: 1, id: 'telling', title: 'Telling', simulated: true, plugins: { telemetry } };
    writeFileSync(sku, JSON.stringify({ ...lines, extends: relative(folder, SIMULATOR) }));
    device = await Device.start('--sku', sku);
  });
  after(async () => {
    await device[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  test('nothing leaves before consent; then the shown report leaves, and is told; withdrawn, nothing waits', async () => {
    await using opened = await device.open({ at: 'telemetry' });
    const { page } = opened;
    const consent = page.getByRole('region', { name: 'Consent' });
    await consent.getByRole('status').getByText('off').waitFor();
    await consent.getByText(new URL(collector.url).host).waitFor();
    await page.getByRole('region', { name: 'Sent data' }).getByText('Nothing left the device.').waitFor();
    await page.getByRole('group', { name: 'Level' }).getByRole('button', { name: 'crash' }).click();
    const body = page.getByLabel('Measurements');
    await body.waitFor();
    const shown = JSON.parse((await body.textContent()) ?? '');
    const names = (push: typeof shown): readonly string[] =>
      push.resourceMetrics[0].scopeMetrics[0].metrics.map(({ name }: { name: string }) => name);
    assert.ok(names(shown).includes('device.plugins'));
    assert.deepEqual(collector.received, []);

    await consent.getByRole('button', { name: 'Choose crash' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'I agree' }).click();
    await confirm(device, page);
    await consent.getByRole('status').getByText('crash').waitFor();
    await eventually(() => collector.of('/v1/metrics').length > 0, 'a push');
    // The queue, which is there now, has a number of its own.
    const left = new Set(names(JSON.parse(collector.of('/v1/metrics')[0]!)));
    assert.deepEqual(
      names(shown).filter((name) => !left.has(name)),
      [],
    );
    await eventually(async () => {
      await page.reload();
      const departures = page.getByRole('region', { name: 'Sent data' });
      await departures.getByRole('row').nth(1).waitFor();
      return (await departures.textContent())?.includes(new URL(collector.url).host);
    }, 'the ledger');
    await page
      .getByRole('region', { name: 'Waiting to leave' })
      .getByText(new URL(collector.url).host)
      .first()
      .waitFor();
    assert.deepEqual(await barriers(page), []);

    await consent.getByRole('button', { name: 'Choose off' }).click();
    await consent.getByRole('status').getByText('off').waitFor();
    const { body: outbox } = await device.core.ask('/outbox', { unix: true });
    const to = new URL(collector.url).host;
    const waiting = outbox.queues.filter((one: { to: string; waiting: number }) => one.to === to && one.waiting > 0);
    assert.deepEqual(waiting, []);
    assert.equal((await device.core.ask('/telemetry', { unix: true })).body.level, 'off');
  });

  test('a request that was to be recorded and one that failed are listed, and are trees of spans', async () => {
    const ask = (path: string, trace: string, flags: string) =>
      device.core.ask(path, { unix: true, headers: { traceparent: `00-${trace}-00f067aa0ba902b7-${flags}` } });
    assert.equal((await ask('/plugins', SAMPLED, '01')).status, 200);
    assert.equal((await ask('/apps/com.example.nobody', FAILED, '00')).status, 404);
    await using opened = await device.open();
    const { page } = opened;
    await page.getByRole('link', { name: 'Traces' }).click();
    const row = (why: string) => page.getByRole('row').filter({ hasText: why });
    await row('APP_NOT_FOUND').first().waitFor();
    await page.getByRole('group', { name: 'Reason' }).getByRole('button', { name: 'sampled' }).click();
    await row('APP_NOT_FOUND').first().waitFor({ state: 'detached' });
    await row('sampled').getByRole('link').first().click();
    await page.getByText(SAMPLED).waitFor();
    const spans = page.getByRole('region', { name: 'Spans' });
    await spans.getByText('operation ').first().waitFor();
    const { body: trace } = await device.core.ask(`/traces/${SAMPLED}`, { unix: true });
    for (const { tree } of trace.spans) await spans.getByText(tree, { exact: true }).first().waitFor();
    assert.deepEqual(await barriers(page), []);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await sideways(page), 0);
  });
});
