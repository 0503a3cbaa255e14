/**
 * Writes docs/cbp-trace.md: what host and bridge really say to each other in a small story, on a virtual clock and so the same each time.
 * `node test/conformance/worked-trace.ts` writes the page; a test finds out when it is no longer true.
 */
import { writeFileSync } from 'node:fs';
import { FRAME, type Frame } from '../../plugins/hardware/cbp/frame.ts';
import { openPacket, PACKET_OVERHEAD, type Packet } from '../../plugins/hardware/cbp/packet.ts';
import { Lab } from '../fixtures/bridge-lab.ts';

export const PAGE = new URL('../../docs/cbp-trace.md', import.meta.url);

const BOARD = {
  board: 'trace',
  endpoints: [
    { label: 'gpio0', class: 'gpio', wires: [[0, 8]] },
    { label: 'spi0', class: 'spix', rxWindow: 256, targets: [{ cs: 0, kind: 'loopback' }] },
  ],
};
const N = 128;
const NAMES = new Map<number, string>(Object.entries(FRAME).map(([name, type]) => [type, name]));
const BYTES_PER_LINE = 32;
/** Longer than a transaction, shorter than two. */
const DEAF_MS = 0.15;

interface Line {
  readonly at: number;
  readonly tx: Uint8Array;
  readonly rx: Uint8Array;
}

interface Chapter {
  readonly title: string;
  readonly text: string;
  readonly lines: readonly Line[];
}

/** A lab whose transactions are written down. */
class Recorder implements AsyncDisposable {
  readonly lab: Lab;
  readonly chapters: Chapter[] = [];
  #lines: Line[] = [];

  constructor() {
    this.lab = new Lab({ board: BOARD, link: { transactionBytes: N }, host: { transactionBytes: N } });
    const { wire, clock } = this.lab;
    const finish = wire.finish.bind(wire);
    // The first transaction is under way by now, so it is told by its end.
    wire.finish = (tx) => {
      const rx = finish(tx);
      this.#lines.push({ at: clock.now(), tx, rx });
      return rx;
    };
  }

  async chapter(title: string, text: string, story: () => Promise<unknown>): Promise<void> {
    this.#lines = [];
    await story();
    // The acknowledgements that are still owed.
    await this.lab.clock.advance(5);
    this.chapters.push({ title, text, lines: this.#lines });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lab[Symbol.asyncDispose]();
  }
}

async function record(): Promise<readonly Chapter[]> {
  await using recorder = new Recorder();
  const { lab } = recorder;
  const { io } = lab;
  await recorder.chapter(
    'Bring-up',
    'The bridge is in BOOT and sends empty RST packets. It answers the second HELLO of the same nonce, and the low half of the nonce is the session id from then on. The host then reads the endpoint table and the labels.',
    () => lab.up(),
  );
  await recorder.chapter(
    'A line is configured and written',
    'Line 0 becomes an output, line 8, which is wired to it, an input that tells its edges. The write answers OK, and the edge comes as an event.',
    async () => {
      await lab.run(io.gpioConfigure('gpio0', { line: 0, direction: 'out', initial: 0 }));
      await lab.run(io.gpioConfigure('gpio0', { line: 8, direction: 'in', edge: 'both' }));
      await lab.run(io.gpioWrite('gpio0', 1, 1));
    },
  );
  await recorder.chapter(
    'A packet is lost',
    'The bridge is not armed in the first transaction: MISO shows 0xff only, and it hears nothing. The host asks again, sees that the acknowledgement does not cover its packet, and sends the packet once more with the number it had.',
    async () => {
      lab.wire.silence(DEAF_MS);
      await lab.run(io.gpioRead('gpio0', 0x101));
    },
  );
  await recorder.chapter(
    'A transfer longer than the ring',
    'A transfer of 300 bytes at 4 MHz through a ring of 256 bytes. The host stops where its credit ends, and goes on with each CREDIT. The answer begins before the request is complete.',
    () => {
      const tx = Uint8Array.from({ length: 300 }, (_, index) => index & 0xff);
      return lab.run(io.spixTransfer('spi0', { cs: 0, mode: 0, speedHz: 4_000_000, tx, rxLength: 300 }));
    },
  );
  await recorder.chapter(
    'A request is cancelled',
    'The caller of a transfer at 125 kHz gives up. CANCEL goes ahead of everything, the bridge stops after the byte under way and answers CANCELLED (1) in the FIN.',
    async () => {
      const stop = new AbortController();
      const slow = { cs: 0, mode: 0, speedHz: 125_000, tx: new Uint8Array(60), rxLength: 60 } as const;
      const transfer = io.spixTransfer('spi0', slow, { signal: stop.signal }).catch((error: unknown) => error);
      await lab.clock.advance(1.2);
      stop.abort();
      await lab.run(transfer);
    },
  );
  return recorder.chapters;
}

function word(bytes: Uint8Array, at: number): number {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).readUInt32LE(at);
}

function describeFrame({ type, fin, ep, rid, op, aux, body }: Frame): string {
  const name = NAMES.get(type) ?? `type ${type}`;
  const place = `ep ${ep}`;
  const length = `${body.length} B`;
  if (type === FRAME.REQ) return `REQ ${place} rid ${rid} op ${op}, ${word(body, 0)} B in all${fin ? ', FIN' : ''}`;
  if (type === FRAME.RSP) return `RSP ${place} rid ${rid}${fin ? `, FIN status ${op}` : ''}, ${body.length - 4} B`;
  if (type === FRAME.DATA)
    return `DATA ${place} rid ${rid} #${aux}, ${length}${fin ? `, FIN${op ? ` status ${op}` : ''}` : ''}`;
  if (type === FRAME.CREDIT) return `CREDIT ${place} kind ${op} limit ${word(body, 0)}`;
  if (type === FRAME.EVT) return `EVT ${place} op 0x${op.toString(16)}, lost ${body[4]! | (body[5]! << 8)}`;
  if (type === FRAME.CANCEL) return `CANCEL ${place} rid ${rid} reason ${op}`;
  if (type === FRAME.HELLO || type === FRAME.HELLO_ACK) return `${name} nonce ${word(body, 0).toString(16)}`;
  return `${name}, ${length}`;
}

function describePacket(bytes: Uint8Array): string {
  const packet: Packet | string = openPacket(bytes);
  if (typeof packet === 'string') return `not a packet (${packet})`;
  const { rst, data, more, seq, ack, frames } = packet;
  const flags = [rst ? 'RST' : '', data ? `seq ${seq}` : '', `ack ${ack}`, more ? 'MORE' : '']
    .filter(Boolean)
    .join(' ');
  return [flags, ...frames.map(describeFrame)].join(' · ');
}

function hex(bytes: Uint8Array): string[] {
  if (typeof openPacket(bytes) === 'string') return ['ff ...'];
  const used = bytes.subarray(0, PACKET_OVERHEAD + (bytes[6]! | (bytes[7]! << 8)));
  const text = Buffer.from(used).toString('hex');
  return text.match(new RegExp(`.{1,${2 * BYTES_PER_LINE}}`, 'g')) ?? [];
}

function showLine({ at, tx, rx }: Line): string {
  const side = (arrow: string, bytes: Uint8Array) => [
    `   ${arrow} ${describePacket(bytes)}`,
    ...hex(bytes).map((part) => `       ${part}`),
  ];
  return [`t = ${at.toFixed(3)} ms, ${tx.length} bytes`, ...side('host  >', tx), ...side('bridge>', rx)].join('\n');
}

/** The page as it should be. */
export async function worked(): Promise<string> {
  const chapters = await record();
  const sections = chapters.map(
    ({ title, text, lines }) => `## ${title}\n\n${text}\n\n\`\`\`text\n${lines.map(showLine).join('\n')}\n\`\`\`\n`,
  );
  return [
    '# CBP: a worked trace\n',
    'Every byte below was said by the host of `plugins/hardware/cbp` and the simulated bridge of `plugins/hardware/port-sim`. `node test/conformance/worked-trace.ts` writes this page, and a test finds out when it is no longer true. The words are those of [the protocol](cbp.md).\n',
    `Each transaction shows when it ended, and both packets in hex up to their CRC; zeros fill the rest. Both leave at once: what the bridge says was armed before it heard what stands above it. The board has a GPIO endpoint 1 and an SPI endpoint 2 with a loopback. N is ${N}, the clock 8 MHz after the bring-up at 1 MHz.\n`,
    ...sections,
  ].join('\n');
}

if (import.meta.main) writeFileSync(PAGE, await worked());
