/** Notifications for the list: newest first, bounded for each app and in all. */
import type { Notification } from '@device-core/plugin-api/services/display';

export class History {
  readonly #most: number;
  readonly #perApp: number;
  readonly #changed: () => void;
  /** Oldest first. */
  readonly #kept = new Map<string, Notification>();

  constructor(limits: { readonly most: number; readonly perApp: number }, changed: () => void) {
    this.#most = limits.most;
    this.#perApp = limits.perApp;
    this.#changed = changed;
  }

  get(id: string): Notification | undefined {
    return this.#kept.get(id);
  }

  list(): readonly Notification[] {
    return [...this.#kept.values()].reverse();
  }

  /** New, or changed: its place stays. */
  put(notification: Notification): void {
    const isNew = !this.#kept.has(notification.id);
    this.#kept.set(notification.id, notification);
    if (isNew) this.#bound(notification.app);
    this.#changed();
  }

  /** State changes are reported once; an ended notification stays ended. */
  state(id: string, state: Notification['state']): void {
    const known = this.#kept.get(id);
    if (known && known.state !== state) this.put({ ...known, state });
  }

  #bound(app: string | undefined): void {
    const own = [...this.#kept.values()].filter((one) => one.app === app);
    if (own.length > this.#perApp) this.#drop(own);
    else if (this.#kept.size > this.#most) this.#drop([...this.#kept.values()]);
  }

  /** The oldest that is over; the oldest of all where none is. */
  #drop(among: readonly Notification[]): void {
    const over = among.find(({ state }) => state !== 'waiting' && state !== 'showing');
    const [oldest] = among;
    const gone = over ?? oldest;
    if (gone) this.#kept.delete(gone.id);
  }
}
