/** The other side in all its moods, and where it may be: the plugin with an outbox in memory and a collector on the loopback. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, describe, it } from 'node:test';
import type { Sent } from '@device-core/plugin-api/inside/services/outbox';
import { leakCheck } from '@device-core/plugin-api/testing';
import { push } from '../../../plugins/state/telemetry/collector.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { CUT, MALFORMED } from '../../fixtures/malformed-answers.ts';
import { part } from '../../fixtures/scope.ts';
import { Collector } from './fakes.ts';
import { NOW, start } from './started.ts';

after(leakCheck());

describe('a collector', () => {
  type Case = readonly [what: string, answer: (response: ServerResponse) => void, expected: Partial<Sent>];
  const cases: readonly Case[] = [
    ['takes it', (r) => r.end('{}'), { outcome: 'taken' }],
    ['takes it and says garbage', (r) => r.end('<html>'), { outcome: 'taken' }],
    ['takes it and talks without an end', (r) => r.end(Buffer.alloc(200_000, 'x')), { outcome: 'taken' }],
    [
      'is busy, and says until when',
      (r) => r.writeHead(429, { 'retry-after': '30' }).end(),
      { outcome: 'later', afterMs: 30_000 },
    ],
    [
      'is busy until a date',
      (r) => r.writeHead(503, { 'retry-after': new Date(NOW + 120_000).toUTCString() }).end(),
      { outcome: 'later', afterMs: 60_000 },
    ],
    [
      'is busy until a date that is none',
      (r) => r.writeHead(429, { 'retry-after': 'soon' }).end(),
      { outcome: 'later', reason: 'it answered 429' },
    ],
    [
      'is busy for a year',
      (r) => r.writeHead(429, { 'retry-after': '31536000' }).end(),
      { outcome: 'later', afterMs: 86_400_000 },
    ],
    ['finds it too large', (r) => r.writeHead(413).end(), { outcome: 'too-large' }],
    ['finds it wrong', (r) => r.writeHead(400).end(), { outcome: 'refused', reason: 'it answered 400' }],
    ['fails', (r) => r.writeHead(500).end(), { outcome: 'refused', reason: 'it answered 500' }],
    ['does not know the token', (r) => r.writeHead(401).end(), { outcome: 'later', reason: 'it answered 401' }],
    ['is behind a gateway that fails', (r) => r.writeHead(502).end(), { outcome: 'later', reason: 'it answered 502' }],
    ['hangs up', (r) => r.destroy(), { outcome: 'later' }],
    [
      'hangs up in the middle',
      (r) => {
        r.writeHead(200, { 'content-length': '9' });
        r.write('{');
        setImmediate(() => r.destroy());
      },
      { outcome: 'later' },
    ],
    ['speaks no HTTP', (r) => r.socket?.end('garbage\r\n\r\n'), { outcome: 'later' }],
  ];
  for (const [what, answer, expected] of cases)
    it(`${what}: ${expected.outcome}`, async () => {
      await using collector = await Collector.start();
      collector.answer = answer;
      const { host, clock, box, consent } = await start({ endpoint: collector.url });
      await using _host = host;
      await consent('usage');
      await eventually(() => box.queues.has('telemetry'), 'the queue');
      await clock.advance(60_000);
      const sent = await eventually(() => box.queue('telemetry').outcomes[0], 'an outcome');
      assert.deepEqual(
        Object.fromEntries(Object.keys(expected).map((key) => [key, sent[key as keyof Sent]])),
        expected,
      );
    });

  it('that answers against the rules is tried later or told as refused, and is never a fault of the plugin', async () => {
    await using collector = await Collector.start();
    await using made = part();
    const post = { url: new URL(collector.url), headers: {}, body: '{}' };
    for (const { title, bytes } of [...MALFORMED, ...CUT]) {
      collector.answer = (response) => void response.socket?.end(bytes, 'latin1');
      const { sent } = await push(post, { scope: made.scope, answerMs: 300 }, new AbortController().signal);
      assert.match(sent.outcome, /^(later|refused|taken)$/, title);
    }
  });

  it('that does not answer is given up in time', async () => {
    await using collector = await Collector.start();
    collector.answer = () => undefined;
    const { host, clock, box, consent } = await start({ endpoint: collector.url, config: { answerMs: 1_000 } });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    await eventually(() => collector.received.length === 1, 'a request');
    await clock.advance(6_000);
    const sent = await eventually(() => box.queue('telemetry').outcomes[0], 'an outcome');
    assert.deepEqual(sent, { outcome: 'later', reason: 'TIMEOUT' });
  });

  it('that is not there gets nothing: no bytes are counted', async () => {
    const collector = await Collector.start();
    const { url } = collector;
    await collector[Symbol.asyncDispose]();
    const { host, clock, box, consent } = await start({ endpoint: url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    const sent = await eventually(() => box.queue('telemetry').outcomes[0], 'an outcome');
    assert.deepEqual(sent, { outcome: 'later', reason: 'ECONNREFUSED', unsent: true });
  });

  it('that hung up has got something: bytes are counted', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) => response.destroy();
    const { host, clock, box, consent } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    const sent = await eventually(() => box.queue('telemetry').outcomes[0], 'an outcome');
    assert.deepEqual(sent, { outcome: 'later', reason: 'ECONNRESET' });
  });

  it('that is somewhere else now is not followed there', async () => {
    await using other = await Collector.start();
    await using collector = await Collector.start();
    collector.answer = (response) => response.writeHead(307, { location: `${other.url}/v1/metrics` }).end();
    const { host, clock, box, consent } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    const sent = await eventually(() => box.queue('telemetry').outcomes[0], 'an outcome');
    assert.match(JSON.stringify(sent), /later.*307, a redirect, which is not followed/);
    assert.deepEqual(other.received, []);
  });

  it('that is gone for a week finds the newest metrics, and every line of the log', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) => response.writeHead(503).end();
    const { host, clock, box, consent, log } = await start({
      endpoint: collector.url,
      config: { intervalMs: 3_600_000 },
    });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('logs'), 'the queues');
    for (let day = 0; day < 7; day++) {
      log(40, `day ${day}`);
      await clock.advance(24 * 3_600_000);
    }
    assert.equal(box.queue('telemetry').waiting.length, 1, 'sums since the start: the newest says all');
    assert.equal(box.queue('logs').waiting.length, 7);
    collector.answer = (response) => response.end('{}');
    collector.received.length = 0;
    box.queue('telemetry').again();
    box.queue('logs').again();
    await eventually(() => collector.received.length === 8, 'all of it');
  });

  it('that rejects a part of it is heard', async () => {
    await using collector = await Collector.start();
    collector.answer = (response) =>
      response.end(JSON.stringify({ partialSuccess: { rejectedDataPoints: '2', errorMessage: 'too\nold' } }));
    const { host, clock, box, consent, health } = await start({ endpoint: collector.url });
    await using _host = host;
    await consent('usage');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    await eventually(() => box.queue('telemetry').sent === 1, 'it is taken');
    assert.match(await health(), /TELEMETRY_REJECTED the collector says: 2 were rejected: too old/);
  });
});

describe('the address and the headers', () => {
  it('may be secrets, which are read for each push; their texts are shown nowhere', async () => {
    await using collector = await Collector.start();
    const vault = new Map([['telemetry.key', 'Bearer canary-1']]);
    const { host, table, clock, box, consent, changed } = await start({
      vault,
      endpoint: { secret: 'telemetry.url' },
      config: { headers: { authorization: { secret: 'telemetry.key' }, 'x-tenant': 'house' } },
    });
    await using _host = host;
    await consent('usage');
    await eventually(
      async () =>
        /there is no secret telemetry\.url/.test(
          (await table.run<{ unsent?: string }>('telemetry.status', {})).unsent ?? '',
        ),
      'why not',
    );
    vault.set('telemetry.url', collector.url);
    for (const listener of changed) listener('telemetry.url');
    await eventually(() => box.queues.has('telemetry'), 'the queue');
    await clock.advance(60_000);
    await eventually(() => collector.received.length === 1, 'a push');
    vault.set('telemetry.key', 'Bearer canary-2');
    await clock.advance(60_000);
    await eventually(() => collector.received.length === 2, 'another');
    assert.deepEqual(
      collector.received.map(({ headers }) => [headers.authorization, headers['x-tenant']]),
      [
        ['Bearer canary-1', 'house'],
        ['Bearer canary-2', 'house'],
      ],
    );
    const status = await table.run('telemetry.status', {});
    assert.deepEqual(status.headers, { authorization: '[secret telemetry.key]', 'x-tenant': 'house' });
    const all = JSON.stringify([status, await table.run('telemetry.show', {}), host.logged, host.published]);
    assert.ok(!all.includes('canary'));
    vault.delete('telemetry.key');
    await clock.advance(60_000);
    await eventually(
      () => JSON.stringify(box.queue('telemetry').outcomes.at(-1)).includes('no secret telemetry.key'),
      'later',
    );
  });

  for (const text of ['canary\n', 'canary\r\nx-more: 1', 'canary \u{1f511}', 'canary\0'])
    it(`with a key that is ${JSON.stringify(text)} send nothing and count nothing; its name is told, until it is mended`, async () => {
      await using collector = await Collector.start();
      const vault = new Map([['telemetry.key', text]]);
      const config = { headers: { authorization: { secret: 'telemetry.key' } } };
      const { host, table, clock, box, consent, health } = await start({ vault, endpoint: collector.url, config });
      await using _host = host;
      await consent('usage');
      await eventually(() => box.queues.has('telemetry'), 'the queue');
      await clock.advance(60_000);
      const sent = await eventually(() => box.queue('telemetry').outcomes[0], 'an outcome');
      const reason =
        'header authorization: secret telemetry.key holds a character that no header may have; devicectl secret set telemetry.key';
      assert.deepEqual(sent, { outcome: 'later', reason, unsent: true });
      assert.ok((await health()).split('\n').includes(`TELEMETRY_UNSENT telemetry is not sent: ${reason}`));
      const status = await table.run<{ unsent?: string }>('telemetry.status', {});
      assert.equal(status.unsent, reason);
      assert.deepEqual(collector.received, []);
      vault.set('telemetry.key', 'Bearer mended');
      await clock.advance(60_000);
      await eventually(() => collector.received.length === 1, 'a push');
      assert.doesNotMatch(await health(), /TELEMETRY/);
      assert.ok(!JSON.stringify([host.logged, host.published]).includes('canary'));
    });

  const refused: readonly (readonly [endpoint: string, why: RegExp])[] = [
    ['http://collector.example', /has to be https/],
    ['http://127.0.0.1.example', /has to be https/],
    ['http://[::2]', /has to be https/],
    ['https://user:pass@collector.example', /a name or a password/],
    ['https://collector.example/?key=1', /a query/],
    ['https://:0', /no address/],
  ];
  for (const [endpoint, why] of refused)
    it(`are refused as ${endpoint}`, async () => {
      const { host, table, consent, health, box } = await start({ endpoint });
      await using _host = host;
      await consent('usage');
      await eventually(
        async () => why.test((await table.run<{ unsent?: string }>('telemetry.status', {})).unsent ?? ''),
        'why not',
      );
      assert.match(await health(), why);
      assert.equal(box.queues.size, 0);
    });

  it('without an outbox are no address: this is said', async () => {
    const { host, consent, health } = await start({ endpoint: 'https://collector.example', outbox: 'none' });
    await using _host = host;
    await consent('usage');
    assert.match(await health(), /TELEMETRY_UNSENT .*enable plugin outbox in the SKU/);
  });
});
