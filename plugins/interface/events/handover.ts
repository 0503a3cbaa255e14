/**
 * Subscriptions of sessions live as long as the sessions, not as long as this plugin: they are kept below `<run>`,
 * marked with the start of the Core, and taken up again by the next run of the plugin.
 */
import { join } from 'node:path';
import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { readState, replaceFile, sweepLeftovers } from '@device-core/plugin-api/durable';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';

const SAVE_AFTER_MS = 100;

export interface Subscriptions {
  /** `seq` of the last event that was delivered. */
  readonly seq: number;
  /** Filters as the app wrote them, by session. */
  readonly sessions: Readonly<Record<string, readonly string[]>>;
}

export class Handover {
  readonly #path: string;
  readonly #startedAt: number;
  readonly #scope: Scope;
  readonly #log: Logger;
  /** Set when the plugin stops: what its next run begins with. */
  last: Promise<Subscriptions> | undefined;
  #timer: Disposable | undefined;

  constructor(device: DeviceInfo, scope: Scope, log: Logger) {
    this.#path = join(device.paths.run, 'subscriptions.json');
    this.#startedAt = device.startedAt;
    this.#scope = scope;
    this.#log = log;
    scope.defer('handover of the subscriptions', () => (this.last ? this.#save(this.last) : undefined));
  }

  /** Subscriptions of the former run of the plugin in this run of the Core. */
  async read(): Promise<Subscriptions> {
    try {
      await sweepLeftovers(this.#path);
      const text = await readState(this.#path);
      if (text === undefined) return { seq: 0, sessions: {} };
      const { startedAt, subscriptions } = JSON.parse(text);
      if (startedAt === this.#startedAt) return subscriptions;
    } catch (error) {
      this.#log.warn({ file: this.#path }, `cannot read the former subscriptions: ${reasonOf(error)}`);
    }
    return { seq: 0, sessions: {} };
  }

  /** Something changed; changes within 100 ms are written together. */
  touch(take: () => Promise<Subscriptions>): void {
    if (this.#scope.signal.aborted) return;
    this.#timer ??= this.#scope.timeout('save the subscriptions', SAVE_AFTER_MS, async () => {
      this.#timer = undefined;
      if (!this.last) await this.#save(take());
    });
  }

  async #save(subscriptions: Promise<Subscriptions>): Promise<void> {
    try {
      const text = JSON.stringify({ startedAt: this.#startedAt, subscriptions: await subscriptions });
      await replaceFile(this.#path, text, { sync: false });
    } catch (error) {
      this.#log.warn({ file: this.#path }, `cannot keep the subscriptions: ${reasonOf(error)}`);
    }
  }
}
