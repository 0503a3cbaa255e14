/** The data-ready line on a GPIO of the host, watched by gpiomon as a child process that is started again when it ends. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterOwnTime, type Clock, type Logger, reasonOf } from '@device-core/plugin-api';
import type { GpioPin, GpioTools } from './gpio-tools.ts';
import { PolledLine } from './poll.ts';
import { Level, type ReadyLine } from './ready-line.ts';

const READ_MS = 2_000;
const STOP_MS = 1_000;
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 5_000;
const STEADY_MS = 10_000;
const REPORT_BYTES = 500;

export interface GpioLineOptions {
  readonly tools: GpioTools;
  readonly pin: GpioPin;
  /** The longest time between two questions while the line is not watched. */
  readonly pollMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

export class GpioLine implements ReadyLine {
  readonly source: string;
  readonly #options: GpioLineOptions;
  readonly #level = new Level();
  /** Polls the bridge while gpiomon does not watch the line. */
  #poll: PolledLine | undefined;
  #child: ChildProcess | undefined;
  #again: Disposable | undefined;
  #backoff = BACKOFF_MIN_MS;
  #closed = false;
  problem: string | undefined;

  private constructor(options: GpioLineOptions) {
    this.#options = options;
    const { chip, line } = options.pin;
    this.source = `gpiomon ${chip} ${line}`;
  }

  static async open(options: GpioLineOptions): Promise<GpioLine> {
    const line = new GpioLine(options);
    await line.#start();
    return line;
  }

  listen(listener: (level: boolean) => void): Disposable {
    return this.#level.listen(listener);
  }

  transacted(): void {
    this.#poll?.transacted();
  }

  wake(): void {
    this.#poll?.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#again?.[Symbol.dispose]();
    await this.#poll?.[Symbol.asyncDispose]();
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'close');
    child.kill('SIGTERM');
    using _hard = afterOwnTime(this.#options.clock, STOP_MS, () => child.kill('SIGKILL'));
    await gone;
  }

  async #start(): Promise<void> {
    const { tools, pin, clock } = this.#options;
    const startedAt = clock.monotonic();
    try {
      // The line is readable only before gpiomon has it; an edge in between is seen by the host's own clocking.
      await this.#readLevel();
    } catch (error) {
      this.#lost(reasonOf(error));
      return;
    }
    if (this.#closed) return;
    const [command, ...args] = tools.monitor(pin);
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let report = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      report = (report + text).slice(-REPORT_BYTES);
    });
    createInterface({ input: child.stdout }).on('line', (edge) => this.#level.set(edge.trim() === '1'));
    child.once('error', (error) => this.#lost(error.message));
    child.once('spawn', () => {
      this.problem = undefined;
      void this.#poll?.[Symbol.asyncDispose]();
      this.#poll = undefined;
    });
    child.once('close', (code, signal) => {
      if (clock.monotonic() - startedAt > STEADY_MS) this.#backoff = BACKOFF_MIN_MS;
      if (child.pid !== undefined) this.#lost(report.trim() || `it ended with ${String(signal ?? code)}`);
    });
  }

  async #readLevel(): Promise<void> {
    const { tools, pin } = this.#options;
    const [command, ...args] = tools.read(pin);
    const { stdout } = await promisify(execFile)(command, args, { timeout: READ_MS });
    this.#level.set(stdout.trim() === '1');
  }

  #lost(reason: string): void {
    if (this.#closed) return;
    const { clock, pollMs, log } = this.#options;
    this.problem = `gpiomon: ${reason}`;
    if (!this.#poll) {
      this.#poll = new PolledLine(clock, pollMs);
      this.#poll.listen((level) => this.#level.set(level));
    }
    log.warn({ reason, retryMs: this.#backoff, line: this.source }, 'the data-ready line is not watched');
    this.#again = clock.after(this.#backoff, () => void this.#start());
    this.#backoff = Math.min(BACKOFF_MAX_MS, 2 * this.#backoff);
  }
}
