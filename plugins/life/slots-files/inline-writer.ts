import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Scope } from '@device-core/plugin-api';
import {
  type Heeding,
  type SlotAnswer,
  type SlotPlaces,
  SlotWriter,
  slotRequests,
} from '@device-core/plugin-api/inside/slot-files';
import { outcome, type SlotRequest, type Writer } from './writer.ts';

/** Input of the thread that stages, and its messages. */
export interface InlineWork {
  readonly places: SlotPlaces;
  readonly line: string;
}
export type InlineWord = { readonly progress: { readonly done: number; readonly of: number } } | SlotAnswer;

const THREAD = new URL(`./inline-thread${extname(import.meta.url)}`, import.meta.url);

/** Writes slots in this process: staging in a thread of its own, for it waits for the disk; the rest at once. */
export class InlineWriter implements Writer {
  readonly kind = 'inline';
  readonly #places: SlotPlaces;
  readonly #scope: Scope;
  readonly #answer: ReturnType<typeof slotRequests>;
  #staging = false;

  constructor(places: SlotPlaces, scope: Scope) {
    this.#places = places;
    this.#scope = scope;
    this.#answer = slotRequests(new SlotWriter(places));
  }

  async ask(request: SlotRequest, heeding: Heeding = {}): Promise<unknown> {
    const line = JSON.stringify(request);
    if (request.verb !== 'stage') return outcome(request, await this.#answer(line));
    if (this.#staging) return outcome(request, { refused: 'BUSY', reason: 'a slot is being written' });
    this.#staging = true;
    try {
      return outcome(request, await this.#staged(line, heeding));
    } finally {
      this.#staging = false;
    }
  }

  async #staged(line: string, { progress, signal }: Heeding): Promise<SlotAnswer> {
    const { promise, resolve } = Promise.withResolvers<SlotAnswer>();
    const workerData: InlineWork = { places: this.#places, line };
    const worker = new Worker(THREAD, { name: 'slots', workerData });
    worker.on('message', (word: InlineWord) => {
      if ('progress' in word) void progress?.(word.progress);
      else resolve(word);
    });
    worker.on('error', (error) => resolve({ failed: `the thread that stages ended: ${error.message}` }));
    worker.on('exit', () => resolve({ failed: 'the thread that stages ended by itself' }));
    const stop = (): void => worker.postMessage('stop');
    await using part = this.#scope.child('staging');
    part.defer('thread that stages', async () => void (await worker.terminate()));
    if (signal?.aborted) stop();
    signal?.addEventListener('abort', stop);
    part.defer('cancelling', () => signal?.removeEventListener('abort', stop));
    return await promise;
  }
}
