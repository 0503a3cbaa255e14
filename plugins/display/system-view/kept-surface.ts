/**
 * A surface of the system that is always there, empty most of the time: so the order among them never changes, and the
 * corner stays above.
 */

import { type Logger, reasonOf } from '@device-core/plugin-api';
import type { Display, PluginSurface } from '@device-core/plugin-api/services/display';

type Drawn = Pick<PluginSurface, 'scene'> & Partial<Pick<PluginSurface, 'box' | 'modal'>>;

export class KeptSurface {
  readonly #display: Display;
  readonly #log: Logger;
  readonly #id: string;
  readonly #draw: () => Drawn | Promise<Drawn>;
  #again = false;
  #running: Promise<void> | undefined;
  #last: string | undefined;

  constructor(
    { display, log }: { readonly display: Display; readonly log: Logger },
    id: string,
    draw: () => Drawn | Promise<Drawn>,
  ) {
    this.#display = display;
    this.#log = log;
    this.#id = id;
    this.#draw = draw;
  }

  /** Draws what is wanted now, where that is something new. Resolves when it is in the tree; never rejects. */
  look(): Promise<void> {
    this.#again = true;
    this.#running ??= this.#follow();
    return this.#running;
  }

  async #follow(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        const drawn = await this.#draw();
        const text = JSON.stringify(drawn);
        if (text === this.#last) continue;
        await this.#display.put({ id: this.#id, layer: 'system', ...drawn });
        this.#last = text;
      } catch (thrown) {
        this.#log.error({ surface: this.#id, reason: reasonOf(thrown) }, 'cannot draw what the system has to say');
      }
    }
    this.#running = undefined;
  }
}
