/** What no well-behaved host sends: packets made by hand, rules broken, and noise that has a good CRC. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { FRAME, type Frame, type FrameHead, PayloadWriter } from '../../plugins/hardware/cbp/frame.ts';
import { HELLO_LENGTH, NO_FIRMWARE, sidOf, writeHello } from '../../plugins/hardware/cbp/hello.ts';
import { openPacket, PACKET_OVERHEAD, type Packet, sealPacket } from '../../plugins/hardware/cbp/packet.ts';
import { STATUS } from '../../plugins/hardware/cbp/status.ts';
import type { SimPort } from '../../plugins/hardware/port-sim/port.ts';
import { SeededRandom } from '../../plugins/hardware/port-sim/sim/random.ts';
import { pace } from '../fixtures/eventually.ts';
import { buildResponder, noCompiler, ResponderProcess } from '../fixtures/responder.ts';

const N = 256;
const GPIO = 1;
const SLOW_SPI = 4;
const NONCE = 0x1234_5678;

interface RawFrame extends FrameHead {
  readonly body?: Uint8Array;
}

/** A host of few words: it numbers and acknowledges, and sends what it is told. */
class RawHost implements AsyncDisposable {
  readonly #process: ResponderProcess;
  readonly #port: SimPort;
  #sid = 0;
  #seq = 0;
  #ack = 0;

  constructor(process: ResponderProcess) {
    this.#process = process;
    this.#port = process.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }

  async exchange(bytes: Uint8Array): Promise<Packet | string> {
    return openPacket(await this.#port.transact(bytes));
  }

  async hello(nonce: number): Promise<Packet | string> {
    const out = new PayloadWriter(64 - PACKET_OVERHEAD);
    const body = out.frame({ type: FRAME.HELLO, fin: true, ep: 0, rid: 0, op: 1 }, HELLO_LENGTH);
    const terms = { n: N, window: 8, rxReorder: 0, gapUs: 0, ackDelay: 1, endpoints: 0, heartbeatMs: 1000, khz: 8000 };
    writeHello({ nonce, ...terms, bootId: 1, tableCrc: 0, firmware: NO_FIRMWARE }, body);
    return this.exchange(
      sealPacket({ data: false, more: false, rst: true, seq: 0, ack: 0, sid: 0 }, out.payload(), 64),
    );
  }

  async open(nonce = NONCE): Promise<this> {
    await this.hello(nonce);
    await this.hello(nonce);
    this.#sid = sidOf(nonce);
    this.#seq = 0;
    this.#ack = 0;
    await this.send();
    return this;
  }

  /** One transaction; the frames of the bridge that were new in it. Undefined: a packet from outside the session. */
  async send(...frames: readonly RawFrame[]): Promise<readonly Frame[] | undefined> {
    const out = new PayloadWriter(N - PACKET_OVERHEAD);
    for (const frame of frames) {
      const body = frame.body ?? new Uint8Array(0);
      out.frame(frame, body.length).set(body);
    }
    const data = frames.length > 0;
    const head = { data, more: false, rst: false, seq: this.#seq, ack: this.#ack, sid: this.#sid };
    if (data) this.#seq = (this.#seq + 1) & 0xff;
    const packet = await this.exchange(sealPacket(head, out.payload(), N));
    assert.ok(typeof packet === 'object', String(packet));
    if (packet.rst) return undefined;
    if (!packet.data || packet.seq !== this.#ack) return [];
    this.#ack = (this.#ack + 1) & 0xff;
    return packet.frames;
  }

  /** Everything that the bridge says in some transactions after these frames. */
  async ask(...frames: readonly RawFrame[]): Promise<readonly Frame[] | undefined> {
    const said: Frame[] = [];
    for (let turn = 0; turn < 12; turn++) {
      const answer = await this.send(...(turn === 0 ? frames : []));
      if (turn > 1 && !answer) return undefined;
      said.push(...(answer ?? []));
      await pace(1);
    }
    return said;
  }
}

function request(ep: number, rid: number, op: number, body: Uint8Array, total = body.length): RawFrame {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(total, 0);
  head.writeUInt32LE(2000, 4);
  return { type: FRAME.REQ, fin: total === body.length, ep, rid, op, body: Buffer.concat([head, body]) };
}

const read = (rid: number) => request(GPIO, rid, 1, Uint8Array.of(1, 0, 0, 0));

/** The body of a transfer of so many bytes at 125 kHz, of which `present` are there. */
function slow(length: number, present: number): Buffer {
  const body = Buffer.alloc(16 + present);
  body[2] = 8;
  body.writeUInt32LE(125_000, 4);
  body.writeUInt32LE(length, 8);
  return body;
}

const finals = (frames: readonly Frame[] | undefined) =>
  (frames ?? [])
    .filter(({ type, fin }) => fin && (type === FRAME.RSP || type === FRAME.DATA))
    .map(({ ep, rid, op }) => [ep, rid, op]);

describe('the responder in C and a host that breaks rules', { skip: noCompiler }, () => {
  let program = '';
  before(() => {
    program = buildResponder().program;
  });
  const start = async () => new RawHost(await ResponderProcess.start(program));
  const open = async () => (await start()).open();

  const breaches: readonly [string, readonly RawFrame[]][] = [
    ['a request to an endpoint that is not there', [{ ...read(1), ep: 99 }]],
    ['a request id of 0', [read(0)]],
    ['a request without its head', [{ type: FRAME.REQ, ep: GPIO, rid: 1, op: 1, body: new Uint8Array(7) }]],
    ['an id that is open', [request(SLOW_SPI, 1, 1, slow(900, 1), 17), request(SLOW_SPI, 1, 1, slow(9, 1), 17)]],
    ['a request inside another', [request(SLOW_SPI, 1, 1, slow(9, 0), 20), request(SLOW_SPI, 2, 1, slow(9, 1), 17)]],
    [
      'a fragment that is not the next',
      [
        request(SLOW_SPI, 1, 1, slow(99, 0), 99),
        { type: FRAME.DATA, ep: SLOW_SPI, rid: 1, aux: 2, body: Buffer.alloc(16) },
      ],
    ],
    [
      'more bytes than were announced',
      [
        request(SLOW_SPI, 1, 1, slow(99, 0), 20),
        { type: FRAME.DATA, ep: SLOW_SPI, rid: 1, aux: 1, body: Buffer.alloc(16) },
      ],
    ],
    [
      'an end before the announced bytes',
      [request(SLOW_SPI, 1, 1, slow(99, 0), 99), { type: FRAME.DATA, fin: true, ep: SLOW_SPI, rid: 1, aux: 1 }],
    ],
    ['a response', [{ type: FRAME.RSP, ep: GPIO, rid: 1, body: new Uint8Array(4) }]],
    ['an event', [{ type: FRAME.EVT, ep: GPIO, rid: 1, body: new Uint8Array(8) }]],
    ['a greeting inside the session', [{ type: FRAME.HELLO, ep: 0, rid: 0, op: 1, body: new Uint8Array(28) }]],
    ['credit for requests', [{ type: FRAME.CREDIT, ep: GPIO, rid: 0, op: 0, body: new Uint8Array(4) }]],
    ['a PING that is too short', [{ type: FRAME.PING, ep: 0, rid: 0, body: new Uint8Array(4) }]],
  ];
  for (const [what, frames] of breaches) {
    it(`leaves the session at ${what}, and opens the next`, async () => {
      await using host = await open();
      assert.equal(await host.ask(...frames), undefined);
      await host.open(NONCE + 1);
      assert.deepEqual(finals(await host.ask(read(1))), [[GPIO, 1, STATUS.OK]]);
    });
  }

  it('leaves the session when the ring of an endpoint is overrun', async () => {
    await using host = await open();
    // The transfer takes a second, so that its ring stays full.
    await host.send(request(SLOW_SPI, 1, 1, slow(20_000, 0), 16 + 20_000));
    for (let aux = 1; aux <= 7; aux++) {
      await host.send({ type: FRAME.DATA, ep: SLOW_SPI, rid: 1, aux, body: Buffer.alloc(200) });
    }
    assert.equal(await host.ask(), undefined);
  });

  it('answers BUSY to a request too many, and all others', async () => {
    await using host = await open();
    const said = [...(await host.ask(...[1, 2, 3, 4, 5].map((rid) => request(SLOW_SPI, rid, 1, slow(2, 2)))))!];
    said.push(...(await host.ask())!);
    assert.deepEqual(finals(said)[0], [SLOW_SPI, 5, STATUS.BUSY]);
    const others = [1, 2, 3, 4].map((rid) => [SLOW_SPI, rid, STATUS.OK]);
    assert.deepEqual(finals(said).slice(1), others);
  });

  it('drops the rest of a request that it has answered, and gives its credit back', async () => {
    await using host = await open();
    const rest = (aux: number): RawFrame => ({ type: FRAME.DATA, ep: SLOW_SPI, rid: 1, aux, body: Buffer.alloc(200) });
    const said = [...(await host.ask(request(SLOW_SPI, 1, 0x55, Buffer.alloc(8), 5000)))!];
    assert.deepEqual(finals(said), [[SLOW_SPI, 1, STATUS.UNSUPPORTED]]);
    for (let aux = 1; aux < 16; aux++) said.push(...(await host.ask(rest(aux)))!);
    const limits = said.filter(({ type }) => type === FRAME.CREDIT).map(({ body }) => Buffer.from(body).readUInt32LE());
    assert.ok(limits.at(-1)! >= 24 + 15 * 208 + 1024 - 256, `${limits.at(-1)}`);
    assert.deepEqual(finals(await host.ask(request(SLOW_SPI, 1, 1, slow(2, 2)))), [[SLOW_SPI, 1, STATUS.OK]]);
  });

  it('takes an id again right after its end, also while its ring holds the old one', async () => {
    await using host = await open();
    const running = request(SLOW_SPI, 1, 1, slow(60, 0));
    const queued = request(SLOW_SPI, 2, 1, slow(2, 2));
    const cancel = (rid: number): RawFrame => ({ type: FRAME.CANCEL, ep: SLOW_SPI, rid, op: 0 });
    const said = [...(await host.ask(running, queued, cancel(2)))!];
    assert.ok(finals(said).some(([, rid, status]) => rid === 2 && status === STATUS.CANCELLED));
    const again = finals(await host.ask(request(SLOW_SPI, 2, 1, slow(3, 3)), cancel(77)));
    assert.deepEqual(
      again.filter(([, rid]) => rid === 2),
      [[SLOW_SPI, 2, STATUS.OK]],
    );
  });

  it('skips extensions and padding, and answers what stands around them', async () => {
    await using host = await open();
    const extension = { type: 13, ep: 200, rid: 7, body: new Uint8Array(20) };
    const said = await host.ask(extension, read(1), extension, read(2), { type: FRAME.PAD, ep: 1, rid: 1 });
    assert.deepEqual(finals(said), [
      [GPIO, 1, STATUS.OK],
      [GPIO, 2, STATUS.OK],
    ]);
  });

  it('opens nothing at a single greeting, nor at two with another packet between', async () => {
    await using host = await open();
    await host.hello(NONCE + 1);
    assert.deepEqual(finals(await host.ask(read(1))), [[GPIO, 1, STATUS.OK]]);
    await host.hello(NONCE + 1);
    assert.deepEqual(finals(await host.ask(read(2))), [[GPIO, 2, STATUS.OK]]);
    await host.hello(NONCE);
    await host.hello(NONCE);
    assert.deepEqual(finals(await host.ask(read(3))), [[GPIO, 3, STATUS.OK]]);
  });

  it('survives 20,000 packets of chance with a good CRC', async () => {
    await using host = await open();
    const random = new SeededRandom(99);
    const bytes = (length: number) => Uint8Array.from({ length }, () => random.below(256));
    for (let round = 0; round < 20_000; round++) {
      const type = 1 + random.below(15);
      // Requests with a length that may be true, so that many of them get as far as an executor.
      const body = bytes(random.below(60));
      if (type === FRAME.REQ && body.length >= 8) Buffer.from(body.buffer).writeUInt32LE(random.below(60), 0);
      const frame = {
        type,
        fin: random.hit(0.7),
        ep: random.below(5),
        rid: random.below(6),
        op: random.below(9),
        body,
      };
      if (type === FRAME.REQ && random.hit(0.8)) frame.fin = Buffer.from(body.buffer).length >= 8;
      if ((await host.send(frame)) === undefined) await host.open(NONCE + round);
    }
    await host.open(NONCE - 1);
    assert.deepEqual(finals(await host.ask(read(1))), [[GPIO, 1, STATUS.OK]]);
  });
});
