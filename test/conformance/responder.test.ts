/** The real host of plugins/hardware/cbp against the bridge in C: two implementations of one text. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { eventually, pace, stays } from '../fixtures/eventually.ts';
import { buildResponder, type LabOptions, noCompiler, ResponderLab } from '../fixtures/responder.ts';
import { FULL } from '../fixtures/runs.ts';

/** The deadline that is worked out from the speed of the bus supposes that both ends run. */
const PATIENT_MS = 20_000;
const SPI = { cs: 0, mode: 0, speedHz: 8_000_000 } as const;
const SLOW = { cs: 0, mode: 0, speedHz: 125_000 } as const;
const EEPROM = 0x50;
const COUNTER = 0x51;

/** Body of an I2C XFER: segments of bytes to write, or of a number of bytes to read. */
function i2c(address: number, ...segments: readonly (readonly number[] | number)[]): Buffer {
  const head = Buffer.alloc(4 + 2 * segments.length);
  head.writeUInt16LE(address, 0);
  head[2] = segments.length;
  segments.forEach((one, index) => {
    head.writeUInt16LE(typeof one === 'number' ? 0x8000 | one : one.length, 4 + 2 * index);
  });
  return Buffer.concat([head, ...segments.map((one) => Buffer.from(typeof one === 'number' ? [] : [...one]))]);
}

async function failure(work: Promise<unknown>): Promise<CoreError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, 'it should have failed');
  return error;
}

describe('the responder in C under the real host', { skip: noCompiler }, () => {
  let program = '';
  before((context) => {
    const built = buildResponder();
    program = built.program;
    context.diagnostic?.(built.sanitized ? 'built with sanitizers' : 'built without sanitizers, which do not run here');
  });
  const open = (options?: LabOptions) => ResponderLab.open(program, options);

  it('greets, opens a session and tells its table', async () => {
    await using lab = await open();
    const rows = lab.host.rows ?? [];
    assert.deepEqual(
      rows.map(({ name, descriptor: { ep, class: kind, rxWindow } }) => [ep, kind, name, rxWindow]),
      [
        [0, 0, 'sys', 512],
        [1, 1, 'gpio0', 256],
        [2, 2, 'i2c0', 512],
        [3, 3, 'spi0', 1024],
        [4, 3, 'spi1', 1024],
      ],
    );
    assert.deepEqual(lab.states, ['hello', 'up']);
  });

  for (const transactionBytes of [64, 128, 256, 1024]) {
    it(`takes the transaction size that both can at an offer of ${transactionBytes}`, async () => {
      await using lab = await open({ transactionBytes });
      assert.equal(lab.host.link.session?.hello.n, Math.min(256, transactionBytes));
      const tx = Buffer.alloc(3000, 'both ends');
      assert.ok(
        tx.equals(await lab.io.spixTransfer('spi0', { ...SPI, tx, rxLength: 3000 }, { deadlineMs: PATIENT_MS })),
      );
    });
  }

  it('writes lines and reads them where they are wired to', async () => {
    await using lab = await open();
    for (const line of [0, 1]) await lab.io.gpioConfigure('gpio0', { line, direction: 'out', initial: 0 });
    await lab.io.gpioWrite('gpio0', 0b11, 0b10);
    assert.equal(await lab.io.gpioRead('gpio0', 0b11 << 8), 0b10 << 8);
  });

  it('writes and reads an I2C memory, and refuses an address without a chip', async () => {
    await using lab = await open();
    await lab.io.request('i2c0', 1, i2c(EEPROM, [0x10, 1, 2, 3, 4]));
    assert.deepEqual([...(await lab.io.request('i2c0', 1, i2c(EEPROM, [0x10], 4)))], [1, 2, 3, 4]);
    const error = await failure(lab.io.request('i2c0', 1, i2c(0x33, 1)));
    assert.deepEqual([error.code, error.details.status], ['BRIDGE_FAILED', 'NACK']);
  });

  it('programs and reads the flash', async () => {
    await using lab = await open();
    const flash = { ...SPI, cs: 1 };
    const send = (bytes: readonly number[], rxLength = 0) =>
      lab.io.spixTransfer('spi0', { ...flash, tx: Uint8Array.from(bytes), rxLength }, { deadlineMs: PATIENT_MS });
    assert.deepEqual([...(await send([0x9f], 4))].slice(1), [0xef, 0x40, 0x10]);
    await send([0x06]);
    await send([0x02, 0, 1, 0, 0xca, 0xfe]);
    assert.deepEqual([...(await send([0x03, 0, 1, 0], 6))].slice(4), [0xca, 0xfe]);
  });

  it('moves 64 KiB through a ring of 1 KiB by credits', async () => {
    await using lab = await open();
    const tx = Buffer.from(Array.from({ length: 65_536 }, (_, index) => (index * 7 + (index >> 8)) & 0xff));
    const rx = await lab.io.spixTransfer(
      'spi0',
      { ...SPI, speedHz: 4_000_000, tx, rxLength: tx.length },
      { deadlineMs: PATIENT_MS },
    );
    assert.ok(tx.equals(rx));
    const [requests, errors, , , bytesIn, bytesOut, , , ringPeak] = await lab.counters('spi0');
    assert.deepEqual([requests, errors, bytesIn, bytesOut], [1, 0, 65_552, 65_536]);
    const [, , , bad, duplicates, , repeated] = await lab.counters();
    assert.deepEqual([bad, duplicates, repeated], [0, 0, 0], 'a good wire needs no repetition');
    assert.ok(ringPeak! > 512 && ringPeak! <= 1024, `${ringPeak} bytes of the ring were in use`);
  });

  it('answers GPIO while a slow target holds its own bus', async () => {
    await using lab = await open();
    let over = false;
    const transfer = lab.io.spixTransfer('spi1', { ...SLOW, tx: new Uint8Array(8000), rxLength: 8000 }).then(() => {
      over = true;
    });
    const times: number[] = [];
    while (!over) {
      const from = performance.now();
      await lab.io.gpioRead('gpio0', 1);
      times.push(performance.now() - from);
      await pace(2);
    }
    await transfer;
    times.sort((a, b) => a - b);
    assert.ok(
      times.length > 30 && times[times.length >> 1]! < 30,
      `${times.length} answers, p50 ${times[times.length >> 1]}`,
    );
  });

  it('stops a transfer that is cancelled, one that waits behind it, and takes the next', async () => {
    await using lab = await open();
    const slow = { ...SLOW, tx: new Uint8Array(60_000), rxLength: 60_000 };
    const [first, second] = [new AbortController(), new AbortController()];
    const running = failure(lab.io.spixTransfer('spi1', slow, { signal: first.signal }));
    const queued = failure(lab.io.spixTransfer('spi1', slow, { signal: second.signal }));
    await pace(100); // the first is on the bus
    const from = performance.now();
    second.abort();
    first.abort();
    assert.deepEqual([(await running).code, (await queued).code], ['CANCELLED', 'CANCELLED']);
    assert.ok(performance.now() - from < 2_000, 'it took as long as a packet or two, not as the transfer');
    const tx = Buffer.from('after');
    assert.ok(tx.equals(await lab.io.spixTransfer('spi1', { ...SLOW, tx, rxLength: 5 }, { deadlineMs: PATIENT_MS })));
    assert.deepEqual(lab.states, ['hello', 'up']);
  });

  it('gives back what waits when its caller waits no longer, and lets go on what runs', async () => {
    await using lab = await open();
    const tx = new Uint8Array(8_000).fill(7);
    const slow = { ...SLOW, tx, rxLength: tx.length };
    const running = lab.io.spixTransfer('spi1', slow, { deadlineMs: PATIENT_MS });
    const queued = await failure(lab.io.spixTransfer('spi1', slow, { deadlineMs: PATIENT_MS, callerMs: 50 }));
    assert.deepEqual([queued.code, queued.details.clock], ['TIMEOUT', 'caller']);
    // The machine may be slow to say that it had not begun.
    assert.match(String(queued.details.executed), /^(no|unknown)$/);
    assert.ok(Buffer.from(tx).equals(await running));
    const [requests = 0, , timeouts, cancels = 0] = await lab.counters('spi1');
    // A busy machine may not even have sent it.
    assert.deepEqual([requests - cancels, timeouts], [1, 0]);
    assert.deepEqual(lab.states, ['hello', 'up']);
  });

  it('ends a transfer at its deadline, by itself', async () => {
    await using lab = await open();
    const slow = { ...SLOW, tx: new Uint8Array(60_000), rxLength: 60_000 };
    const from = performance.now();
    assert.equal((await failure(lab.io.spixTransfer('spi1', slow, { deadlineMs: 150 }))).code, 'TIMEOUT');
    const took = performance.now() - from;
    assert.ok(took >= 150 && took < 390, `${took} ms: before the host lost its patience`);
    const [, errors, timeouts] = await lab.counters('spi1');
    assert.deepEqual([errors, timeouts], [1, 1]);
  });

  const refusals: readonly [string, string, Record<string, unknown>][] = [
    ['a chip select that is not there', 'INVALID', { cs: 7 }],
    ['a speed of 1 Hz', 'BAD_SPEED', { speedHz: 1 }],
    ['16 bits a word', 'UNSUPPORTED', { bitsPerWord: 16 }],
    ['an atomic transfer that its buffer does not hold', 'TOO_BIG', { atomic: true, tx: new Uint8Array(257) }],
    ['more bytes than a transfer may have', 'TOO_BIG', { tx: new Uint8Array(65_537) }],
  ];
  for (const [what, status, change] of refusals) {
    it(`answers ${status} to ${what}`, async () => {
      await using lab = await open();
      const transfer = { ...SPI, tx: new Uint8Array(1), rxLength: 1, ...change };
      const error = await failure(lab.io.spixTransfer('spi0', transfer));
      // A speed that cannot be is an error with a code of its own.
      assert.equal(error.details.status ?? error.code.replace('INVALID_', 'BAD_'), status);
      assert.deepEqual(lab.states, ['hello', 'up']);
    });
  }

  it('echoes more than its ring holds, and refuses unknown requests', async () => {
    await using lab = await open();
    const bytes = Buffer.alloc(5000, 'echo ');
    assert.ok(bytes.equals(await lab.io.request('sys', 6, bytes)));
    assert.equal((await failure(lab.io.request('sys', 0x55, Buffer.alloc(700)))).details.status, 'UNSUPPORTED');
    assert.equal((await failure(lab.io.request('sys', 2, Buffer.of(99)))).details.status, 'NO_ENDPOINT');
  });

  it('tells edges in order, counts those that its queue could not hold, and tells the loss with the next', async () => {
    await using lab = await open();
    for (let line = 0; line < 8; line++) {
      await lab.io.gpioConfigure('gpio0', { line, direction: 'out', initial: 0 });
      await lab.io.gpioConfigure('gpio0', { line: line + 8, direction: 'in', edge: 'both' });
    }
    // 96 bytes of queue are 8 edges of 12; two writes in one packet are 16 edges.
    for (let round = 0; round < 50; round++) {
      await Promise.all([0xff, 0, 0xff, 0].map((levels) => lab.io.gpioWrite('gpio0', 0xff, levels)));
    }
    await lab.io.gpioWrite('gpio0', 1, 1);
    await lab.io.gpioRead('gpio0', 1);
    const told = lab.events.filter(({ ep }) => ep === 1);
    const lost = told.reduce((sum, event) => sum + event.lost, 0);
    assert.equal(told.length + lost, 50 * 32 + 1);
    assert.ok(lost > 0, 'some were too many');
    const [, , , , , , events, eventsLost] = await lab.counters('gpio0');
    assert.deepEqual([events, eventsLost], [told.length, lost]);
    assert.deepEqual([...told.at(-1)!.data], [8, 1, 0, 0]);
  });

  it('grants event credit that outlasts the first 4096 bytes', async () => {
    await using lab = await open();
    await lab.io.gpioConfigure('gpio0', { line: 0, direction: 'out' });
    await lab.io.gpioConfigure('gpio0', { line: 8, direction: 'in', edge: 'both' });
    for (let round = 1; round <= 600; round++) await lab.io.gpioWrite('gpio0', 1, round & 1);
    assert.deepEqual(
      lab.events.map(({ data, lost }) => [data[1], lost]),
      Array.from({ length: 600 }, (_, index) => [(index + 1) & 1, 0]),
    );
  });

  it('sets outputs to their safe values when the host falls silent', async () => {
    await using lab = await open();
    await lab.io.gpioConfigure('gpio0', { line: 2, direction: 'out', initial: 1, safe: 0 });
    await lab.io.gpioConfigure('gpio0', { line: 3, direction: 'out', initial: 1 });
    assert.equal(await lab.io.gpioRead('gpio0', 0b1100 << 8), 0b1100 << 8);
    // A busy machine may come to its pulse when the bridge hears again: it would be another bridge then.
    lab.port.resets = false;
    lab.port.mute(2_500);
    await lab.reaches('down');
    await lab.reaches('up');
    assert.equal(await lab.io.gpioRead('gpio0', 0b1100 << 8), 0b1000 << 8);
  });

  it('keeps an idle link alive with PING', async () => {
    await using lab = await open({ heartbeatMs: 50 });
    await eventually(() => (lab.host.link.session?.heartbeat.rttUs ?? 0) > 0, 'an answer to a PING');
    await stays(() => lab.states.length === 2, 'the link is up');
    assert.deepEqual(lab.states, ['hello', 'up']);
  });

  it('ends requests in flight with LINK_RESET when its reset is pulled in the middle, and is back', async () => {
    await using lab = await open();
    const before = lab.host.link.session!.hello.bootId;
    const transfer = failure(lab.io.spixTransfer('spi1', { ...SLOW, tx: new Uint8Array(20_000), rxLength: 20_000 }));
    await pace(80);
    await lab.port.reset();
    assert.equal((await transfer).details.status, 'LINK_RESET');
    await lab.reaches('up');
    assert.notEqual(lab.host.link.session!.hello.bootId, before);
    assert.equal(lab.host.link.session!.hello.firmware.reset, 2);
    const tx = Buffer.from('again');
    assert.ok(tx.equals(await lab.io.spixTransfer('spi1', { ...SLOW, tx, rxLength: 5 }, { deadlineMs: PATIENT_MS })));
  });

  it('says GOAWAY after it has answered REBOOT, and is back as after a software reset', async () => {
    await using lab = await open();
    const session = lab.host.link.session!;
    await lab.io.request('sys', 7, Buffer.of(0));
    await eventually(() => lab.host.link.session !== session, 'another session');
    await eventually(
      () => !(lab.host.link.session?.hello.firmware.reset !== 4),
      'lab.host.link.session?.hello.firmware.reset !== 4',
    );
    assert.match(lab.reasons.join(), /the bridge goes away/);
  });
});

/** A quarter of them read each counter, echo, and toggle a line. */
const OPERATIONS = FULL ? 10_000 : 2_000;

/** Runs `count` jobs, so many at once. */
async function many(count: number, atOnce: number, job: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

describe('the responder in C on a bad wire', { skip: noCompiler }, () => {
  let program = '';
  before(() => {
    program = buildResponder().program;
  });

  for (const bitErrorRate of [1e-5, 1e-4]) {
    it(`loses, doubles and reorders nothing in thousands of operations at a bit error rate of ${bitErrorRate}, 2 % of the packets replayed`, async () => {
      await using lab = await ResponderLab.open(program);
      for (const [line, edge] of [
        [0, 'none'],
        [8, 'both'],
      ] as const) {
        await lab.io.gpioConfigure('gpio0', { line, direction: line === 0 ? 'out' : 'in', edge });
      }
      lab.port.noise = { bitErrorRate, stale: 0.02, seed: 42 };
      // Both counters give each reader the next number: its answers are 1, 2, 3 when each ran once and in order.
      const counts: Record<string, number[]> = { i2c: [], spi: [] };
      const mixed = many(OPERATIONS, 24, async (index) => {
        if (index % 4 === 0) {
          const rx = await lab.io.request('i2c0', 1, i2c(COUNTER, 4));
          counts.i2c!.push(Buffer.from(rx).readUInt32LE());
        } else if (index % 4 === 1) {
          const rx = await lab.io.spixTransfer(
            'spi0',
            { ...SPI, cs: 2, tx: new Uint8Array(4), rxLength: 4 },
            { deadlineMs: PATIENT_MS },
          );
          counts.spi!.push(Buffer.from(rx).readUInt32LE());
        } else if (index % 4 === 2) {
          const bytes = Buffer.alloc(1 + (index % 97), `${index} `);
          assert.ok(bytes.equals(await lab.io.request('sys', 6, bytes)), `echo ${index}`);
        } else {
          // Each toggles the line, so that each is an edge.
          await lab.io.gpioWrite('gpio0', 1, (index >> 2) & 1 ? 0 : 1);
        }
      });
      await mixed;
      const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
      assert.deepEqual(counts.i2c, upTo(OPERATIONS / 4));
      assert.deepEqual(counts.spi, upTo(OPERATIONS / 4));
      const [requests, errors] = await lab.counters('sys');
      assert.deepEqual([requests! - OPERATIONS / 4 - 6, errors], [1, 0], 'as many as were asked: six for the table');
      lab.port.noise = { bitErrorRate: 0, stale: 0, seed: 1 };
      await lab.io.gpioRead('gpio0', 1);
      const edges = lab.events.map(({ data }) => data[1]!);
      const lost = lab.events.reduce((sum, event) => sum + event.lost, 0);
      assert.equal(edges.length + lost, OPERATIONS / 4);
      if (lost === 0) assert.ok(edges.every((level, index) => level === (index + 1) % 2));
      const [, , , receivedBad, duplicates] = await lab.counters();
      const least = FULL ? 5 : 0;
      assert.ok(
        lab.port.faulty > 4 * least && receivedBad! > least && lab.host.link.statistics.bad > least,
        'the faults did fall',
      );
      assert.ok(duplicates! > least, `${duplicates} packets came twice`);
      // A wire like that may be told as degraded; the session is the first one.
      assert.deepEqual(
        lab.states.filter((state) => state !== 'up' && !state.startsWith('degraded')),
        ['hello'],
      );
    });
  }
});
