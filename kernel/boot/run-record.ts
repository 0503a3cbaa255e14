import type { Logger } from 'pino';
import type { Problem } from '../resolved.ts';

/** What a run of the Core leaves in its log, so that the next one (safe mode, above all) can say how it went. The logs plugin reads `run`. */
export class RunRecord {
  readonly #log: Logger;
  #expected = false;

  constructor(log: Logger) {
    this.#log = log;
    process.on('exit', (code) => {
      if (this.#expected) return;
      // The stack of the listener leads to whoever called process.exit().
      const err = new Error('nobody asked the Core to end');
      log.fatal({ run: 'ends', code, err }, `the process ends with ${code} although nobody asked it to`);
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
