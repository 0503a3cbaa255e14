/** The simulator's process: started, connected to, and started again with a back-off when it dies. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { afterOwnTime, type Clock, CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import type { SimPort } from './port.ts';
import { EXIT_BAD_BOARD, PROGRAM } from './sim/index.ts';

const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 5_000;
/** A process that lived this long was a good one: the next failure starts with the short back-off again. */
const STEADY_MS = 10_000;
const STOP_MS = 2_000;
const REPORT_BYTES = 2_000;
/** Number of its wire among the streams of the simulator. */
const WIRE = 3;

export interface SimulatorOptions {
  readonly socket: string;
  readonly board: string;
  readonly state: string;
  /** Path of a program that takes the place of the simulator. */
  readonly command?: string;
  readonly port: SimPort;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Simulator implements AsyncDisposable {
  readonly #options: SimulatorOptions;
  #child: ChildProcess | undefined;
  #backoff = BACKOFF_MIN_MS;
  #restart: Disposable | undefined;
  #stopped = false;
  /** How often it has been started again. */
  restarts = 0;

  constructor(options: SimulatorOptions) {
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts it and resolves when it is connected. Rejects with UNAVAILABLE when it ends before, in its own words; with
   * CANCELLED after its own end.
   */
  async start(): Promise<void> {
    if (this.#stopped) throw new CoreError('CANCELLED', { what: 'the bridge simulator', reason: 'it was stopped' });
    const { socket, board, state, command, port, clock, log } = this.#options;
    const startedAt = clock.monotonic();
    const args = ['--socket', socket, '--board', board, '--state', state];
    const child = spawn(command ?? process.execPath, command ? args : [PROGRAM, ...args], {
      // The simulator has its wire to the port, and a channel by which it gets the connections of those who steer it.
      stdio: command ? ['pipe', 'pipe', 'pipe'] : ['pipe', 'pipe', 'pipe', 'pipe', 'ipc'],
      env: cacheOfCore(),
    });
    this.#child = child;
    let report = '';
    const { stdin, stdout, stderr } = child as ChildProcessWithoutNullStreams;
    stderr.setEncoding('utf8').on('data', (text: string) => {
      report = (report + text).slice(-REPORT_BYTES);
    });
    // Its input is only there to be closed; a write error says no more than its exit does.
    stdin.on('error', () => undefined);
    const ended = once(child, 'close').then(
      ([code, signal]) => ({ code: code as number | null, reason: describe(code, signal, report) }),
      (error: unknown) => ({ code: null, reason: reasonOf(error) }),
    );
    // Its first word, or its end.
    const { promise, resolve } = Promise.withResolvers<Awaited<typeof ended> | undefined>();
    stdout.once('data', () => resolve(undefined));
    void ended.then(resolve);
    const first = await promise;
    if (first)
      throw new CoreError('UNAVAILABLE', { what: 'the bridge simulator', reason: first.reason, code: first.code });
    try {
      port.attach(command ? await open(socket) : (child.stdio[WIRE] as Socket));
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
    log.info({ pid: child.pid, board, socket }, 'the bridge simulator runs');
    void ended.then(({ reason }) => {
      if (clock.monotonic() - startedAt > STEADY_MS) this.#backoff = BACKOFF_MIN_MS;
      this.#lost(reason);
    });
  }

  /** Passes a connection of a steering peer to the simulator; ends it where there is no simulator. */
  hand(socket: Socket): void {
    const child = this.#child;
    if (!child?.connected) {
      socket.destroy();
      return;
    }
    child.send('connection', socket, (error) => {
      // The simulator has it now, or died with it.
      if (error) socket.destroy();
    });
  }

  /** The first start failed for a reason that may pass. */
  retry(error: unknown): void {
    this.#lost(reasonOf(error));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#restart?.[Symbol.dispose]();
    await this.#end();
    // It does not tidy up where it was killed, and a killed Core's simulator cannot know who comes after.
    await rm(this.#options.socket, { force: true });
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'close');
    child.stdin?.end();
    child.kill('SIGTERM');
    using _hard = afterOwnTime(this.#options.clock, STOP_MS, () => child.kill('SIGKILL'));
    await gone;
  }

  #lost(reason: string): void {
    const { port, clock, log } = this.#options;
    port.detach(reason);
    if (this.#stopped) return;
    log.warn({ reason, retryMs: this.#backoff }, 'the bridge simulator ended');
    this.#restart = clock.after(this.#backoff, () => void this.#again());
    this.#backoff = Math.min(BACKOFF_MAX_MS, 2 * this.#backoff);
  }

  async #again(): Promise<void> {
    this.restarts++;
    try {
      await this.start();
    } catch (error) {
      this.#lost(reasonOf(error));
    }
  }
}

/** Is this the error of a board that no restart will mend? */
export function isBadBoard(error: unknown): boolean {
  return error instanceof CoreError && error.details.code === EXIT_BAD_BOARD;
}

function describe(code: unknown, signal: unknown, report: string): string {
  const how = signal ? `it was ended by ${String(signal)}` : `it ended with code ${String(code)}`;
  const lines = report.trim().split('\n');
  const said = lines.find((line) => /error/i.test(line)) ?? lines.at(-1);
  return said ? `${how} (${said})` : how;
}

async function open(path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, 'connect');
  return socket;
}

/** Compile cache of the Core: without it the program strips its types at each start, which takes longer than all else it does then. */
function cacheOfCore(): Readonly<Record<string, string>> {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}
