import { getCompileCacheDir } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { type CoreError, reasonOf } from '@device-core/plugin-api';
import { systemClock } from '../clock.ts';
import { outcome } from '../deadline.ts';
import { ENTRY, type EntryData, type GuestData } from './entry-data.ts';
import { crash, EndedWith, type Launched } from './launched.ts';
import { type ThreadPort, threadPort } from './ports.ts';

/** Workers that more plugins may join, by name: of one Core. */
export type SharedThreads = Map<string, Thread>;

export interface ThreadOptions {
  readonly heapMB: number;
  /** The name by which others find it; absent: it is of one plugin alone. */
  readonly share: string | undefined;
  readonly threads: SharedThreads;
}

/** One plugin of a thread. */
interface Member {
  readonly border: ThreadPort;
  readonly ended: (error: CoreError) => void;
}

/**
 * With V8's own 48 MB, one collection can move more to a full heap than the leeway that Node gives it, and V8 then ends the whole process.
 * Measured with this: 96 of 96 heaps that ran full ended their worker alone; without, about every fourth ended the Core.
 */
const YOUNG_MB = 8;
const TERMINATE_MS = 2_000;

/** A worker of one plugin, or of some that trust each other. Each plugin has a separate border; they end together. */
export class Thread {
  readonly #worker: Worker;
  readonly #joins: MessagePort;
  readonly #members = new Map<string, Member>();
  readonly #options: ThreadOptions;

  /** Adds the plugin to the thread that it shares, or to a new one. */
  static join(guest: GuestData, options: ThreadOptions): Launched {
    const { share, threads } = options;
    const thread = (share && threads.get(share)) || new Thread(share ?? guest.plugin, options);
    return thread.#join(guest);
  }

  private constructor(name: string, options: ThreadOptions) {
    this.#options = options;
    const { heapMB, share, threads } = options;
    if (share !== undefined) threads.set(name, this);
    // TurboFan leaves out a loop's check for interrupts where it replaces the loop on the stack, and such a loop cannot be ended.
    setFlagsFromString('--no-use-osr');
    const { port1, port2: joins } = new MessageChannel();
    this.#joins = port1;
    const workerData: EntryData = { cache: getCompileCacheDir(), shared: share !== undefined, joins };
    this.#worker = new Worker(ENTRY, {
      name: `plugin ${name}`,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      workerData,
      transferList: [joins],
      resourceLimits: { maxOldGenerationSizeMb: heapMB, maxYoungGenerationSizeMb: YOUNG_MB },
    });
    this.#worker.on('error', (error: NodeJS.ErrnoException) => {
      const full = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      if (full) this.#end(`its heap grew past ${heapMB} MB`);
      else this.#end(`an error escaped from it: ${reasonOf(error)}`, undefined, error);
    });
    this.#worker.on('exit', async (code) => {
      // The last messages of the plugins are read before the end.
      await Promise.all(this.#members.values().map(({ border }) => border.drained()));
      this.#end(`it ended by itself with exit code ${code}`);
    });
  }

  #join({ plugin, main }: GuestData): Launched {
    // The worker's own channel cannot be left unread for a while; this one can.
    const { port1: own, port2: port } = new MessageChannel();
    this.#joins.postMessage({ plugin, main, port } satisfies GuestData, [port]);
    const { promise: exited, resolve: ended } = Promise.withResolvers<CoreError>();
    const border = threadPort(own, () => ended(crash(plugin, 'it sent what cannot be read')));
    const member = { border, ended };
    this.#members.set(plugin, member);
    return {
      port: border,
      program: () => undefined,
      heapMB: this.#options.heapMB,
      // The owner of an output line is unknown, so the first member gets all lines.
      output: this.#members.size === 1 ? [this.#worker.stdout, this.#worker.stderr] : [],
      exited,
      // V8 answers even while the worker is busy.
      memory: () =>
        this.#worker.getHeapStatistics().then(
          ({ used_heap_size, external_memory, malloced_memory }) => used_heap_size + external_memory + malloced_memory,
          () => undefined,
        ),
      kill: async (reason, blame) => {
        if (this.#members.get(plugin) === member) this.#members.delete(plugin);
        if (reason !== undefined) this.#end(reason, blame === 'it' ? plugin : undefined);
        if (this.#members.size > 0) return;
        this.#forget();
        // A thread that cannot be interrupted ends with the Core; the wait is bounded.
        await outcome(systemClock, this.#worker.terminate(), TERMINATE_MS);
      },
    };
  }

  /** Ends all members that are left. */
  #end(reason: string, culprit?: string, cause?: unknown): void {
    this.#forget();
    for (const [plugin, { ended }] of this.#members)
      ended(culprit === undefined ? crash(plugin, reason, cause) : new EndedWith(plugin, culprit, reason));
    this.#members.clear();
  }

  /** Closes the thread to further members. */
  #forget(): void {
    const { share, threads } = this.#options;
    if (share !== undefined && threads.get(share) === this) threads.delete(share);
    this.#joins.close();
  }
}
