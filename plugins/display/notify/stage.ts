/**
 * Keeps one surface as it is wanted: one thing at a time comes, changes and goes, each with its motion. Nothing is
 * scheduled while nothing changes.
 */
import { type Clock, type Logger, reasonOf } from '@device-core/plugin-api';
import type { Timeline } from '@device-core/plugin-api/scene';
import type { Display, PluginSurface } from '@device-core/plugin-api/services/display';

export interface Wanted {
  readonly key: string;
  readonly version: number;
}

export interface Drawing extends Pick<PluginSurface, 'scene'> {
  readonly box: NonNullable<PluginSurface['box']>;
  /** How it goes. */
  readonly leave: readonly Timeline[];
}

export interface StageOptions<T extends Wanted> {
  readonly display: Pick<Display, 'put' | 'patch' | 'remove'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly surface: Pick<PluginSurface, 'id' | 'layer'>;
  wanted(): T | undefined;
  /** `former` is what is there of it already; without, it comes with its motion. */
  draw(wanted: T, former: T | undefined): Promise<Drawing>;
  /** It is in the tree. */
  shown(wanted: T): void;
  /** It cannot be drawn; it is not tried again before it changes. */
  failed(wanted: T, reason: string): void;
}

/** Least milliseconds between two drawings of a view that changes faster. */
export const LEAST_MS = 100;

interface Shown<T> {
  readonly thing: T;
  readonly leave: readonly Timeline[];
  /** Version of the surface. */
  readonly version: number;
  readonly at: number;
  readonly round: number;
}

export class Stage<T extends Wanted> {
  readonly #options: StageOptions<T>;
  #shown: Shown<T> | undefined;
  #failed: T | undefined;
  #busy = false;
  #round = 0;

  constructor(options: StageOptions<T>) {
    this.#options = options;
  }

  /** Key of the view in the tree now. */
  get key(): string | undefined {
    return this.#shown?.thing.key;
  }

  /** Something may have changed. */
  look(): void {
    if (this.#busy || this.#options.signal.aborted) return;
    this.#busy = true;
    void this.#follow();
  }

  /** Theme, text scale or language changed: the same is drawn again. */
  again(): void {
    this.#round += 1;
    this.#failed = undefined;
    this.look();
  }

  /** The screen went, and all that it showed: what is wanted is drawn on the next one. */
  lost(): void {
    this.#shown = undefined;
    this.#failed = undefined;
  }

  async #follow(): Promise<void> {
    for (;;) {
      const next = this.#options.wanted();
      const shown = this.#shown;
      if (this.#options.signal.aborted) break;
      if (shown && shown.thing.key !== next?.key) await this.#leave(shown);
      else if (next && this.#isNew(next)) await this.#draw(next, shown);
      else break;
    }
    this.#busy = false;
  }

  #isNew({ key, version }: T): boolean {
    if (this.#failed?.key === key && this.#failed.version === version) return false;
    return this.#shown?.thing.version !== version || this.#shown.round !== this.#round;
  }

  async #draw(next: T, former: Shown<T> | undefined): Promise<void> {
    const { display, clock, surface, signal, draw, shown, failed } = this.#options;
    const round = this.#round;
    const wait = former ? former.at + LEAST_MS - clock.monotonic() : 0;
    try {
      if (wait > 0) {
        await clock.sleep(wait, signal);
        const still = this.#options.wanted();
        if (still?.key !== next.key || still.version !== next.version) return;
      }
      const { leave, ...drawing } = await draw(next, former?.thing);
      const version = await display.put({ ...surface, ...drawing });
      this.#shown = { thing: next, leave, version, at: clock.monotonic(), round };
    } catch (thrown) {
      if (signal.aborted) return;
      this.#failed = next;
      failed(next, reasonOf(thrown));
      return;
    }
    shown(next);
  }

  async #leave({ leave, version }: Shown<T>): Promise<void> {
    const { display, clock, surface, log, signal } = this.#options;
    this.#shown = undefined;
    const { id } = surface;
    try {
      await display.patch(id, { version, timelines: leave });
      await clock.sleep(Math.max(...leave.map(({ ms }) => ms)), signal);
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn({ surface: id, reason: reasonOf(thrown) }, 'a surface goes without its motion');
    }
    try {
      await display.remove(id);
    } catch (thrown) {
      log.warn({ surface: id, reason: reasonOf(thrown) }, 'cannot take a surface away');
    }
  }
}
