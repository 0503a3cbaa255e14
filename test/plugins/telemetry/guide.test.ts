/** The guide "Metrics and consent" prints what `telemetry show` prints: the bytes that a collector gets. DEVICE_RECORD=1 writes them anew. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { Collector } from './fakes.ts';
import { start } from './started.ts';

after(leakCheck());

const GUIDE = fileURLToPath(new URL('../../../docs/guides/metrics.md', import.meta.url));
/** What no two devices share. */
const NAME = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;
const steady = (text: string) =>
  text
    .replace(NAME, '018f3c5e-7a10-4c3e-9b1d-2f4a6c8e0b12')
    .replace(/"(start)?([tT]imeUnixNano)":"\d+"/g, '"$1$2":"1735819200000000000"');

const block = (what: string) => new RegExp(`(<!-- telemetry ${what} -->\\n\\n\`\`\`text\\n)(.*)(\\n\`\`\`)`);

test('the guide prints a push of metrics and one of the log, to the byte', async () => {
  await using collector = await Collector.start();
  const { host, table, clock, box, consent, log } = await start({ endpoint: collector.url });
  await using _host = host;
  await consent('crash');
  await eventually(() => box.queues.has('logs'), 'the queues');
  log(50, 'cannot read the sensor', { plugin: 'bme280', code: 'SENSOR_FAILED' });
  const shown = await table.run<{ metrics: string; logs: string }>('telemetry.show', {});
  await clock.advance(60_000);
  await eventually(() => collector.received.length === 2, 'both pushes');
  for (const [what, path, text] of [
    ['push', '/v1/metrics', shown.metrics],
    ['log', '/v1/logs', shown.logs],
  ] as const) {
    assert.deepEqual(collector.of(path), [text], 'what was shown is what came');
    if (process.env.DEVICE_RECORD === '1')
      writeFileSync(
        GUIDE,
        readFileSync(GUIDE, 'utf8').replace(block(what), (_, before, __, end) => `${before}${steady(text)}${end}`),
      );
    const printed = block(what).exec(readFileSync(GUIDE, 'utf8'))?.[2];
    assert.equal(printed, steady(text), `${what}: DEVICE_RECORD=1 node --test test/plugins/telemetry/guide.test.ts`);
  }
});
