import type { Readable } from 'node:stream';
import type { Logger } from '@device-core/plugin-api';

/** Lines a second that a guest may log, and at once. */
const RATE = { perSecond: 200, burst: 1_000 };
const LINE = 8_192;
/** Bytes of output after which others have a turn. */
const TURN_BYTES = 64 << 10;

/** The log of one guest: what is too much is dropped, counted and told. */
export class BoundedLog {
  readonly #log: Logger;
  #tokens = RATE.burst;
  #at = performance.now();
  #dropped = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  write(level: keyof Logger, fields: object, message: string): void {
    const now = performance.now();
    this.#tokens = Math.min(RATE.burst, this.#tokens + ((now - this.#at) / 1_000) * RATE.perSecond);
    this.#at = now;
    if (this.#tokens < (level === 'debug' ? RATE.burst / 2 : 1)) {
      this.#dropped++;
      return;
    }
    this.#tokens--;
    this.told();
    this.#log[level](fields, message);
  }

  /** Tells of what was dropped since. */
  told(): void {
    if (this.#dropped === 0) return;
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.#log.warn({ dropped }, `${dropped} lines were dropped: more than ${RATE.perSecond} a second came`);
  }

  /** Each line of a stream becomes one of the log. */
  follow(stream: Readable): void {
    let rest = '';
    let taken = 0;
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      taken += text.length;
      if (taken >= TURN_BYTES) {
        stream.pause();
        setImmediate(() => stream.resume());
        taken = 0;
      }
      const lines = `${rest}${text}`.split('\n');
      rest = (lines.pop() ?? '').slice(0, LINE);
      for (const line of lines) if (line.trim() !== '') this.write('info', { output: true }, line.slice(0, LINE));
    });
    stream.on('end', () => {
      if (rest.trim() !== '') this.write('info', { output: true }, rest);
    });
    stream.on('error', () => stream.destroy()); // its writer ended in the middle of a line
  }
}
