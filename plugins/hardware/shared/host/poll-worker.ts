/** The thread behind PollThread: it waits for all descriptors at once and hands on what comes, in batches. */
import { readSync } from 'node:fs';
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import koffi from 'koffi';
import type { PollData, PollOrder, PollWord } from './poll-thread.ts';

interface Watched {
  readonly id: number;
  readonly fd: number;
  readonly buffer: Buffer;
  lost: number;
}

/** Records of a batch. */
const BATCH = 64;
/** Batches that the main thread has not taken yet; what comes beyond is dropped and counted. */
const MOST_BATCHES = 32;
/** A process that ends without ado waits for its threads: none sleeps longer. */
const SLEEP_MS = 1_000;
const POLLIN = 1;
const POLLERR = 0x38; // POLLERR, POLLHUP, POLLNVAL
const EINTR = 4;
const EAGAIN = 'EAGAIN';

const { wake, taken: shared } = workerData as PollData;
const port = parentPort!;
const taken = new Int32Array(shared);
const poll = koffi.load(null).func('int poll(void *fds, unsigned long count, int timeout)') as unknown as (
  fds: Buffer,
  count: number,
  timeout: number,
) => number;
let list: Watched[] = [];
let sent = 0;

const say = (word: PollWord) => port.postMessage(word);

/** Which of the descriptors have something; undefined for none. */
function ready(fds: readonly number[], ms: number): readonly number[] | undefined {
  const table = Buffer.alloc(8 * fds.length);
  for (const [index, fd] of fds.entries()) {
    table.writeInt32LE(fd, 8 * index);
    table.writeInt16LE(POLLIN, 8 * index + 4);
  }
  const count = poll(table, fds.length, ms);
  if (count < 0 && koffi.errno() !== EINTR) throw new Error(`poll: errno ${koffi.errno()}`);
  return count > 0 ? fds.map((_, index) => table.readInt16LE(8 * index + 6)) : undefined;
}

/** Takes orders; false when it is over. */
function obey(): boolean {
  for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
    const order = next.message as PollOrder;
    if (order === 'end') return false;
    if ('add' in order) list.push({ id: order.add, fd: order.fd, buffer: Buffer.alloc(order.bytes), lost: 0 });
    else {
      list = list.filter(({ id }) => id !== order.remove);
      say({ removed: order.remove });
    }
  }
  return true;
}

/** The records that are there, a batch at most. Throws where there are no more to come. */
function drain(one: Watched): void {
  const records: Buffer[] = [];
  try {
    do {
      const size = readSync(one.fd, one.buffer);
      if (size === 0) throw new Error('end of the device');
      if (sent - Atomics.load(taken, 0) >= MOST_BATCHES) one.lost++;
      else records.push(Buffer.from(one.buffer.subarray(0, size)));
    } while (records.length < BATCH && ((ready([one.fd], 0)?.[0] ?? 0) & POLLIN) !== 0);
  } finally {
    if (records.length > 0) {
      const bytes = new Uint8Array(Buffer.concat(records));
      sent++;
      say({ id: one.id, bytes, sizes: records.map(({ length }) => length), lost: one.lost });
      one.lost = 0;
    }
  }
}

function look(one: Watched, events: number): void {
  try {
    if (events & POLLIN) drain(one);
    else if (events & POLLERR) throw new Error('the device hung up');
  } catch (error) {
    if ((error as { code?: string }).code === EAGAIN) return;
    list = list.filter((other) => other !== one);
    say({ over: one.id, reason: error instanceof Error ? error.message : String(error) });
  }
}

for (;;) {
  const events = ready([wake, ...list.map(({ fd }) => fd)], SLEEP_MS);
  if (!events) continue;
  const before = list;
  for (const [index, one] of before.entries()) look(one, events[index + 1] ?? 0);
  if (events[0]) {
    readSync(wake, Buffer.alloc(8));
    if (!obey()) break;
  }
}
port.close();
