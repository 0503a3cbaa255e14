/** One thread for the descriptors of all host buses that tell by themselves. It is there while one of them is listened to. */
import { closeSync, writeSync } from 'node:fs';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** Main thread to poll thread. */
export type PollOrder =
  | { readonly add: number; readonly fd: number; readonly bytes: number }
  | { readonly remove: number }
  | 'end';

/** Poll thread to main thread. */
export type PollWord =
  | { readonly id: number; readonly bytes: Uint8Array; readonly sizes: readonly number[]; readonly lost: number }
  | { readonly over: number; readonly reason: string }
  | { readonly removed: number };

export interface PollData {
  /** Wakes the thread. */
  readonly wake: number;
  /** Count of batches that the main thread has taken. */
  readonly taken: SharedArrayBuffer;
}

export interface Hearing {
  hear(record: Uint8Array, lost: number): void;
  over(error: Error): void;
}

interface Watched extends Hearing {
  readonly fd: number;
  live: boolean;
  /** Its descriptor is to be closed once the thread has let go of it. */
  close: boolean;
}

const THREAD = new URL(`./poll-worker${extname(import.meta.url)}`, import.meta.url);
const ONE = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);

export class PollThread {
  readonly #eventfd: () => number;
  readonly #watched = new Map<number, Watched>();
  #thread: { readonly worker: Worker; readonly wake: number; readonly taken: Int32Array } | undefined;
  #ids = 0;

  /** `eventfd` makes a descriptor that wakes a poll. */
  constructor(eventfd: () => number) {
    this.#eventfd = eventfd;
  }

  watch(fd: number, bytes: number, hearing: Hearing): Disposable {
    const id = ++this.#ids;
    const { hear, over } = hearing;
    const watched: Watched = { hear, over, fd, live: true, close: false };
    this.#watched.set(id, watched);
    this.#order({ add: id, fd, bytes });
    return {
      [Symbol.dispose]: () => {
        if (!watched.live) return;
        watched.live = false;
        this.#order({ remove: id });
      },
    };
  }

  /** Closes a descriptor, once the thread does not look at it any more. */
  close(fd: number): void {
    const watched = [...this.#watched.values()].find((one) => one.fd === fd);
    if (watched) watched.close = true;
    else closeSync(fd);
  }

  #order(order: PollOrder): void {
    this.#thread ??= this.#start();
    this.#thread.worker.postMessage(order);
    writeSync(this.#thread.wake, ONE);
  }

  #start() {
    const wake = this.#eventfd();
    const shared = new SharedArrayBuffer(4);
    const workerData: PollData = { wake, taken: shared };
    const worker = new Worker(THREAD, { name: 'host buses', workerData });
    const thread = { worker, wake, taken: new Int32Array(shared) };
    worker.on('message', (word: PollWord) => this.#heard(word, thread.taken));
    worker.on('error', (error) => this.#died(error));
    worker.on('exit', () => {
      closeSync(wake);
      if (this.#thread === thread) this.#died(new Error('the thread that listens ended'));
    });
    return thread;
  }

  #heard(word: PollWord, taken: Int32Array): void {
    if ('removed' in word) this.#gone(word.removed);
    else if ('over' in word) {
      const watched = this.#watched.get(word.over);
      if (watched?.live) watched.over(new Error(word.reason));
    } else {
      Atomics.add(taken, 0, 1);
      const watched = this.#watched.get(word.id);
      let { lost } = word;
      let at = 0;
      for (const size of word.sizes) {
        if (watched?.live) watched.hear(word.bytes.subarray(at, at + size), lost);
        lost = 0;
        at += size;
      }
    }
  }

  #gone(id: number): void {
    const watched = this.#watched.get(id);
    this.#watched.delete(id);
    if (watched?.close) closeSync(watched.fd);
    if (this.#watched.size > 0) return;
    const thread = this.#thread;
    this.#thread = undefined;
    thread?.worker.postMessage('end' satisfies PollOrder);
    if (thread) writeSync(thread.wake, ONE);
  }

  /** Its buses find out, and begin anew with another thread. */
  #died(error: Error): void {
    this.#thread = undefined;
    for (const [id, watched] of [...this.#watched]) {
      this.#watched.delete(id);
      if (watched.live) watched.over(error);
      watched.live = false;
      if (watched.close) closeSync(watched.fd);
    }
  }
}
