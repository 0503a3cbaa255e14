/** A banner for each app that waits to be opened: one, however often it asks. */
import { type Bus, type Clock, type Logger, reasonOf } from '@device-core/plugin-api';

/** An app that was offered is not offered again for so long. */
const AGAIN_MS = 60_000;
const MOST = 64;
const BANNER_MS = 10_000;

export class Offers {
  readonly #bus: Pick<Bus, 'publish'>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #offered = new Map<string, number>();

  constructor(bus: Pick<Bus, 'publish'>, clock: Clock, log: Logger) {
    this.#bus = bus;
    this.#clock = clock;
    this.#log = log;
  }

  /** Without a title it waits no longer. */
  offer(app: string, title: string | undefined): void {
    const now = this.#clock.monotonic();
    const before = this.#offered.get(app);
    const recent = before !== undefined && now - before < AGAIN_MS;
    if (title === undefined) {
      if (recent) this.#publish({ app, id: 'display', action: 'dismiss' });
      // When it was offered is remembered: an app that shows and hides again and again is no more than one banner a minute.
      return;
    }
    if (recent) return;
    this.#offered.delete(app);
    this.#offered.set(app, now);
    const [oldest] = this.#offered.keys();
    if (this.#offered.size > MOST && oldest !== undefined) this.#offered.delete(oldest);
    const text = `${title} has something to show`;
    const buttons = [{ id: 'open', title: 'Open' }];
    this.#publish({ app, id: 'display', action: 'show', text, level: 'info', durationMs: BANNER_MS, buttons });
  }

  #publish(payload: object): void {
    try {
      this.#bus.publish('ui.banner', payload);
    } catch (error) {
      this.#log.warn({ reason: reasonOf(error) }, 'an app that waits could not be offered');
    }
  }
}
