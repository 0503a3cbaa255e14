import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { spi } from '@device-core/plugin-api/services/spi';
import fc from 'fast-check';
import { eventually } from '../../fixtures/eventually.ts';
import { app, codeOf, described } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';
import { bridgeFailed, type Started, start } from './start.ts';

const APP = app('com.example.reader');

const transfer = (started: Started, params: object = {}, caller = APP, options = {}) =>
  started.table.run('spi.transfer', { handle: 'flash', tx: 'nw==', rxLen: 4, ...params }, { caller, ...options });

suite('SPI transfers', () => {
  test('any bytes go out and come back, at any length', async () => {
    await using started = await start();
    const length = fc.oneof(fc.integer({ min: 0, max: 40 }), fc.constantFrom(65_535, 65_536));
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), length, async (tx, rxLen) => {
        fc.pre(tx.length + rxLen > 0);
        const { rx } = await transfer(started, { tx: Buffer.from(tx).toString('base64'), rxLen });
        const wanted = Buffer.alloc(Math.max(rxLen, tx.length));
        wanted.set(tx);
        assert.deepEqual(
          Buffer.from(rx as string, 'base64'),
          Buffer.from(wanted.map((byte) => byte ^ 0xff).subarray(0, rxLen)),
        );
      }),
      { numRuns: runs(40) },
    );
    const big = Buffer.alloc(65_536, 0xa5).toString('base64');
    assert.equal(((await transfer(started, { tx: big, rxLen: 65_536 })).rx as string).length, 87_384);
  });

  test('the settings of the handle go to its endpoint', async () => {
    await using started = await start();
    await transfer(started, { handle: 'slow' });
    const { endpoint, cs, mode, speedHz, atomic, rxLength } = started.bridge.sent[0]!;
    assert.deepEqual([endpoint, cs, mode, speedHz, atomic, rxLength], ['spi1', 1, 3, 125_000, true, 4]);
  });

  test('a request that is not right is refused before the bridge hears of it', async () => {
    const text = (bytes: number) => Buffer.alloc(bytes).toString('base64');
    const cases: [string, object, string][] = [
      ['whitespace in base64', { tx: 'n w=' }, 'PARAMS_INVALID'],
      ['a line break in base64', { tx: 'nw==\n' }, 'PARAMS_INVALID'],
      ['the URL alphabet', { tx: '-_8=' }, 'PARAMS_INVALID'],
      ['missing padding', { tx: 'nw' }, 'PARAMS_INVALID'],
      ['too much padding', { tx: 'n===' }, 'PARAMS_INVALID'],
      ['padding in the middle', { tx: 'nw==nw==' }, 'PARAMS_INVALID'],
      ['bits behind the last byte', { tx: 'nx==' }, 'PARAMS_INVALID'],
      ['no base64 at all', { tx: 'übel' }, 'PARAMS_INVALID'],
      ['too many bytes', { tx: text(65_537) }, 'PARAMS_INVALID'],
      ['a number as tx', { tx: 5 }, 'PARAMS_INVALID'],
      ['a negative rxLen', { rxLen: -1 }, 'PARAMS_INVALID'],
      ['a fraction as rxLen', { rxLen: 1.5 }, 'PARAMS_INVALID'],
      ['too large an rxLen', { rxLen: 65_537 }, 'PARAMS_INVALID'],
      ['a text as rxLen', { rxLen: '4' }, 'PARAMS_INVALID'],
      ['nothing to clock', { tx: '', rxLen: 0 }, 'PARAMS_INVALID'],
      ['an extra member', { speed: 1 }, 'PARAMS_INVALID'],
      ['a missing member', { rxLen: undefined }, 'PARAMS_INVALID'],
      ['a handle that is not a text', { handle: 7 }, 'PARAMS_INVALID'],
      ['a handle name with a colon', { handle: 'a:b' }, 'INVALID_HANDLE'],
      ['an empty handle name', { handle: '' }, 'INVALID_HANDLE'],
      ['an unknown handle', { handle: 'absent' }, 'HANDLE_NOT_FOUND'],
    ];
    await using started = await start();
    for (const [name, change, code] of cases) {
      const params = JSON.parse(JSON.stringify({ handle: 'flash', tx: 'nw==', rxLen: 4, ...change }));
      assert.equal(await codeOf(started.table.run('spi.transfer', params, { caller: APP })), code, name);
    }
    assert.equal(started.bridge.sent.length, 0);
    const service = started.host.service(spi);
    assert.equal(await codeOf(service.transfer('flash', new Uint8Array(65_537), 0)), 'PARAMS_INVALID');
    assert.equal(await codeOf(service.transfer('flash', new Uint8Array(0), 0)), 'PARAMS_INVALID');
    assert.equal(await codeOf(service.transfer('flash', new Uint8Array(1), 0.5)), 'PARAMS_INVALID');
  });

  test('over REST the failure is bare, with the statuses of the specification', async () => {
    await using started = await start();
    const { rest, capability } = await described(started.table, 'spi.transfer');
    assert.equal(capability, 'bridges.spi:{handle}');
    assert.deepEqual([rest?.method, rest?.path, rest?.status ?? 200], ['POST', '/SPI_transfer_txrx', 200]);
    assert.deepEqual([rest?.failure?.bare, rest?.failure?.otherwise], [true, 500]);
    const { status } = rest!.failure!;
    for (const code of [
      'PARAMS_INVALID',
      'JSON_INVALID',
      'CONTENT_TYPE_INVALID',
      'REQUEST_INVALID',
      'INVALID_HANDLE',
    ] as const) {
      assert.equal(status?.[code], 400, code);
    }
    for (const code of [
      'HANDLE_NOT_FOUND',
      'TRANSFER_FAILED',
      'TIMEOUT',
      'NOT_INITIALIZED',
      'INVALID_SPEED',
    ] as const) {
      assert.equal(status?.[code], undefined, code);
    }
    assert.deepEqual(
      [
        status?.UNAUTHENTICATED,
        status?.CAPABILITY_DENIED,
        status?.ORIGIN_DENIED,
        status?.BODY_TOO_LARGE,
        status?.BUSY,
        status?.RATE_LIMITED,
      ],
      [401, 403, 403, 413, 429, 429],
    );
  });

  test('errors of the bridge are told in the codes of the specification', async () => {
    const cases: [string, unknown, string, RegExp][] = [
      ['IO_ERROR', bridgeFailed('IO_ERROR'), 'TRANSFER_FAILED', /cannot transfer on flash: IO_ERROR/],
      ['LINK_RESET', bridgeFailed('LINK_RESET'), 'TRANSFER_FAILED', /LINK_RESET/],
      ['CANCELLED', bridgeFailed('CANCELLED'), 'TRANSFER_FAILED', /CANCELLED/],
      ['NO_ENDPOINT', bridgeFailed('NO_ENDPOINT'), 'TRANSFER_FAILED', /NO_ENDPOINT/],
      ['TOO_BIG', bridgeFailed('TOO_BIG'), 'TRANSFER_FAILED', /TOO_BIG/],
      ['DENIED', bridgeFailed('DENIED'), 'TRANSFER_FAILED', /DENIED/],
      ['an unknown status', bridgeFailed('0x42'), 'TRANSFER_FAILED', /0x42/],
      ['TIMEOUT', bridgeFailed('TIMEOUT'), 'TIMEOUT', /transfer on flash timed out after 101 ms/],
      ['its timer', new CoreError('TIMEOUT', { what: 'request', ms: 1 }), 'TIMEOUT', /transfer on flash/],
      ['BAD_SPEED', bridgeFailed('BAD_SPEED'), 'INVALID_SPEED', /speed 8000000/],
      ['BAD_MODE', bridgeFailed('BAD_MODE'), 'INVALID_MODE', /mode 0/],
      ['LINK_DOWN', bridgeFailed('LINK_DOWN'), 'NOT_INITIALIZED', /link/],
      ['no link', new CoreError('NOT_INITIALIZED', { reason: 'no HELLO_ACK yet' }), 'NOT_INITIALIZED', /no HELLO_ACK/],
      [
        'a revoked service',
        new CoreError('SERVICE_REVOKED', { service: 'bridge', plugin: 'cbp' }),
        'TRANSFER_FAILED',
        /after cbp stopped/,
      ],
      ['a bug', new TypeError('x is not a function'), 'TRANSFER_FAILED', /x is not a function/],
    ];
    await using started = await start();
    for (const [name, error, code, message] of cases) {
      started.bridge.answer = () => Promise.reject(error);
      await assert.rejects(transfer(started), (thrown: { code: string; message: string }) => {
        assert.equal(thrown.code, code, name);
        assert.match(thrown.message, message, name);
        return true;
      });
    }
    const [flash] = await started.host.service(spi).handles();
    assert.deepEqual([flash?.transfers, flash?.errors, flash?.inFlight], [cases.length, cases.length, 0]);
  });

  test('nothing is sent to an endpoint of another class', async () => {
    await using started = await start();
    assert.equal(await codeOf(transfer(started)), 'no error');
    started.bridge.kind = 0x01;
    started.bridge.up('spi0');
    await started.host.settle();
    const sent = started.bridge.sent.length;
    await assert.rejects(transfer(started), /cannot transfer on flash: UNSUPPORTED/);
    assert.equal(started.bridge.sent.length, sent);
  });

  test('without a bridge, before and after one was there, the answer is NOT_INITIALIZED with the reason', async () => {
    await using started = await start({ withBridge: false });
    await assert.rejects(transfer(started), /cannot transfer: no IO bridge is connected/);
    assert.equal(await codeOf(transfer(started, { handle: 'absent' })), 'HANDLE_NOT_FOUND');
    await started.host.appear(endpoints, started.bridge as never);
    assert.equal(await codeOf(transfer(started)), 'no error');
    await started.host.disappear(endpoints);
    assert.equal(await codeOf(transfer(started)), 'NOT_INITIALIZED');
  });

  test('a bridge that never answers is waited for no longer than its deadline and a moment', async () => {
    await using started = await start();
    started.bridge.answer = () => new Promise(() => undefined);
    const before = performance.now();
    assert.equal(await codeOf(transfer(started)), 'TIMEOUT');
    assert.ok(performance.now() - before < 1_000);
    started.bridge.answer = () => Buffer.alloc(4);
    assert.equal(await codeOf(transfer(started)), 'no error');
  });

  test('the deadline is twice the wire time and 100 ms, at most 5 s, the own one of the handle, and what the caller waits stands beside it', async () => {
    const cases: [string, object, object, number][] = [
      ['8 MHz, 4 bytes', {}, {}, 101],
      ['8 MHz, 64 KiB', { rxLen: 65_536 }, {}, 232],
      ['125 kHz, 4 KiB', { handle: 'slow', rxLen: 4_096 }, {}, 625],
      ['125 kHz, 64 KiB', { handle: 'slow', rxLen: 65_536 }, {}, 5_000],
      ['own deadline', { handle: 'patient', rxLen: 65_536 }, {}, 9_000],
    ];
    await using started = await start();
    for (const [name, params, options, wanted] of cases) {
      await transfer(started, params, APP, options);
      assert.equal(started.bridge.sent.at(-1)?.options.deadlineMs, wanted, name);
    }
    await transfer(started, {}, APP, { deadline: Date.now() + 5_000 });
    const { callerMs = 0, deadlineMs } = started.bridge.sent.at(-1)!.options;
    // Two clocks of the machine may differ by a fraction of a millisecond.
    assert.ok(callerMs > 0 && callerMs <= 5_001, `${callerMs}`);
    assert.equal(deadlineMs, 101);
    const count = started.bridge.sent.length;
    assert.equal(await codeOf(transfer(started, {}, APP, { deadline: Date.now() - 1 })), 'TIMEOUT');
    assert.equal(started.bridge.sent.length, count);
  });

  test('a slow link makes the limit longer, but for a handle that sets its own', async () => {
    await using started = await start();
    const limit = async (params: object) => {
      await transfer(started, params);
      return started.bridge.sent.at(-1)!.options.deadlineMs;
    };
    // A byte at 1 MHz; the request has 16 bytes of head and one to send.
    started.bridge.byteUs = 12;
    started.bridge.up('spi0', 'spi1');
    await started.host.settle();
    assert.equal(await limit({ rxLen: 65_536 }), Math.ceil(232 + (2 * 12 * (65_536 + 17)) / 1_000));
    assert.equal(await limit({ handle: 'patient', rxLen: 65_536 }), 9_000);
    started.bridge.byteUs = 2;
    started.bridge.up('spi0', 'spi1');
    await started.host.settle();
    assert.equal(await limit({ rxLen: 65_536 }), Math.ceil(232 + (2 * 2 * (65_536 + 17)) / 1_000));
  });

  test('a caller that gives up takes its transfer along', async () => {
    await using started = await start();
    const abort = new AbortController();
    started.bridge.answer = ({ options }) =>
      new Promise((_, reject) => {
        const cancelled = new CoreError('CANCELLED', { what: 'request', reason: 'the caller gave up' });
        options.signal?.addEventListener('abort', () => reject(cancelled));
      });
    const answer = codeOf(transfer(started, {}, APP, { signal: abort.signal }));
    await started.host.settle();
    abort.abort();
    assert.equal(await answer, 'CANCELLED');
  });

  test('at most 8 are in flight on a handle and 32 of an app; the next is BUSY, and one that is done makes room', async () => {
    await using started = await start({
      config: {
        handles: Array.from({ length: 5 }, (_, cs) => ({
          name: `h${cs}`,
          endpoint: 'spi0',
          cs,
          speed: 1_000_000,
          mode: 0,
          deadlineMs: 30_000, // a busy machine does not end what the test holds up
        })),
      },
    });
    const gates: (() => void)[] = [];
    started.bridge.answer = ({ rxLength }) =>
      new Promise((resolve) => gates.push(() => resolve(new Uint8Array(rxLength))));
    const running: Promise<string>[] = [];
    const begin = (handle: string, caller = APP) => {
      const work = codeOf(transfer(started, { handle }, caller));
      running.push(work);
      return work;
    };
    for (let index = 0; index < 32; index++) void begin(`h${index >> 3}`);
    await started.host.settle();
    assert.equal(gates.length, 32);
    assert.equal(await begin('h4'), 'BUSY');
    const other = app('com.example.other');
    assert.equal(await begin('h0', other), 'BUSY');
    void begin('h4', other);
    gates.shift()!();
    await running[0];
    void begin('h0');
    await started.host.settle();
    assert.equal(gates.length, 33);
    for (const open of gates) open();
    const codes = await Promise.all(running);
    assert.equal(codes.filter((code) => code === 'no error').length, 34);
    assert.deepEqual(
      (await started.host.service(spi).handles()).map((handle) => handle.inFlight),
      [0, 0, 0, 0, 0],
    );
  });

  test('a BUSY bridge is asked once more, after the next completion on the endpoint', async () => {
    await using started = await start();
    const first = Promise.withResolvers<Uint8Array>();
    const answers: (() => Promise<Uint8Array>)[] = [
      () => first.promise,
      () => Promise.reject(bridgeFailed('BUSY')),
      async () => new Uint8Array(4),
    ];
    started.bridge.answer = () => answers.shift()!();
    const one = transfer(started, { handle: 'patient' });
    const two = transfer(started, { handle: 'patient' });
    await eventually(() => started.bridge.sent.length >= 2, 'both transfers on the bridge');
    await started.host.settle();
    first.resolve(new Uint8Array(4));
    await Promise.all([one, two]);
    assert.equal(started.bridge.sent.length, 3);
  });

  test('where nothing of ours completes the second try comes by itself, and a second BUSY is the end', async () => {
    await using started = await start();
    started.bridge.answer = () => Promise.reject(bridgeFailed('BUSY'));
    await assert.rejects(transfer(started), /cannot transfer on flash: BUSY/);
    assert.equal(started.bridge.sent.length, 2);
    assert.deepEqual(
      started.host.leaks().filter((label) => label.startsWith('wait')),
      [],
    );
  });
});
