/** As a Prometheus server asks: a whole Core, its HTTP and the token of the operator. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../../fixtures/core.ts';

after(leakCheck());

const PLUGINS = { operations: '^1.0.0', identity: '^1.0.0', system: '^1.0.0', http: '^1.0.0' };
/** What a Prometheus server of today says that it takes. */
const ACCEPT = 'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';

function scrape(core: Core, headers: Record<string, string>, method = 'GET') {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; type: string; text: string }>();
  const asked = request({
    socketPath: join(core.paths.run, 'core.sock'),
    path: '/metrics',
    method,
    headers,
    agent: false,
  });
  asked.once('error', reject).once('response', async (answer) => {
    let text = '';
    for await (const piece of answer.setEncoding('utf8')) text += piece;
    resolve({ status: answer.statusCode ?? 0, type: String(answer.headers['content-type']), text });
  });
  asked.end();
  return promise;
}

test('a scrape with the token of the operator is answered in the text format, one with another is not', async () => {
  await using core = await startCore({ plugins: { ...PLUGINS, metrics: '^1.0.0' } });
  const token = readFileSync(join(core.paths.run, 'operator.token'), 'utf8').trim();
  const { status, type, text } = await scrape(core, { accept: ACCEPT, authorization: `Bearer ${token}` });
  assert.equal(status, 200, text);
  assert.equal(type, 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(text, /^process_cpu_time_seconds_total\{plugin="core",cpu_mode="user"\} [\d.e-]+$/m);
  assert.match(text, /^device_plugin_busy_time_seconds_total\{plugin="core",device_plugin="http"\} /m);
  const refused = await scrape(core, { authorization: `Bearer ${'x'.repeat(43)}` });
  assert.deepEqual([refused.status, refused.type], [401, 'application/json; charset=utf-8']);
  const head = await scrape(core, { authorization: `Bearer ${token}` }, 'HEAD');
  assert.deepEqual([head.status, head.text], [200, '']);
});

test('without the line in the SKU there is no such address', async () => {
  await using core = await startCore({ plugins: PLUGINS });
  assert.equal((await scrape(core, {})).status, 404);
});
