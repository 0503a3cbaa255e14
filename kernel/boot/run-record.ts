import { maybe } from '@device-core/plugin-api';
import type { Logger } from 'pino';
import type { Problem } from '../resolved.ts';

/** The frames of a library or two stand between process.exit() and the plugin that called it. */
const FRAMES = 100;

/** Marks of a run in the log, so that the next one (safe mode, above all) can report how it went. The logs plugin reads `run`. */
export class RunRecord {
  readonly #log: Logger;
  #expected = false;
  /**
   * Names the plugin that a stack leads to. An installed plugin lies in a folder that does not bear its id, so the log
   * cannot tell it later.
   */
  blamed: (error: Error) => string | undefined = () => undefined;

  constructor(log: Logger) {
    this.#log = log;
    process.on('exit', (code) => {
      if (this.#expected) return;
      // The stack of the listener leads to the caller of process.exit().
      Error.stackTraceLimit = FRAMES;
      const err = new Error('the Core was not asked to end');
      const plugin = this.blamed(err);
      log.fatal({ run: 'ends', code, err, ...maybe({ plugin }) }, `the process ends with ${code} without a request`);
    });
  }

  starts(sku: string, safeMode: boolean): void {
    this.#log.info({ run: 'starts', sku, safeMode }, `the Core starts with ${sku}`);
  }

  problem({ plugin, code, stops }: Problem, text: string): void {
    const about = plugin === undefined ? {} : { plugin };
    this.#log[stops === 'nothing' ? 'warn' : 'error']({ run: 'problem', code, stops, ...about }, text);
  }

  ready(state: string): void {
    this.#log.info({ run: 'ready', state }, `the Core is ${state}`);
  }

  stops(signal: string): void {
    this.#log.info({ run: 'stops', signal }, `the Core stops: ${signal}`);
  }

  ends(code: number): never {
    this.#expected = true;
    this.#log.info({ run: 'ends', code }, `the process ends with ${code}`);
    process.exit(code);
  }
}
