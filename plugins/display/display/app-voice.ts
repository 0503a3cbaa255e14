/** Messages to apps, each in order; a bounded queue holds those of an app that does not read. */

import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { AppSockets } from '@device-core/plugin-api/inside/services/app-sockets';

/** Touches that wait for one app; the oldest goes. */
const MOST_WAITING = 32;

interface Line {
  readonly waiting: { readonly method: string; readonly params: object }[];
  dropped: number;
  busy: boolean;
}

export class AppVoice {
  readonly #log: Logger;
  readonly #lines = new Map<string, Line>();
  #sockets: Pick<AppSockets, 'notify'> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  follow(sockets: Pick<AppSockets, 'notify'>, part: Scope): void {
    this.#sockets = sockets;
    part.defer('telling apps', () => {
      this.#sockets = undefined;
    });
  }

  /** A state replaces a waiting one of the same method. */
  say(app: string, method: string, params: object): void {
    if (!this.#sockets) return;
    const line = this.#lines.get(app) ?? { waiting: [], dropped: 0, busy: false };
    this.#lines.set(app, line);
    if (method !== 'display.input') {
      const former = line.waiting.findIndex((one) => one.method === method);
      if (former >= 0) line.waiting.splice(former, 1);
    }
    line.waiting.push({ method, params });
    if (line.waiting.length > MOST_WAITING) {
      line.waiting.shift();
      line.dropped++;
    }
    if (!line.busy) void this.#send(app, line);
  }

  async #send(app: string, line: Line): Promise<void> {
    line.busy = true;
    for (let next = line.waiting.shift(); next; next = line.waiting.shift()) {
      const { dropped } = line;
      line.dropped = 0;
      try {
        await this.#sockets?.notify(app, next.method, dropped > 0 ? { ...next.params, dropped } : next.params);
      } catch (error) {
        this.#log.debug({ app, method: next.method, reason: reasonOf(error) }, 'an app could not be told');
      }
    }
    line.busy = false;
    if (this.#lines.get(app) === line && line.dropped === 0) this.#lines.delete(app);
  }
}
