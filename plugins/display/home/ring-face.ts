/** Face of a timer or an alarm that rings: above every app, until the alarm is over. */

import { type Logger, reasonOf } from '@device-core/plugin-api';
import type { Display } from '@device-core/plugin-api/services/display';
import type { Facts } from './facts.ts';
import { drawRinging } from './screens/index.ts';

export const RING_SURFACE = 'ringing';
const FADE_MS = 160;

export interface RingFaceOptions {
  readonly display: Display;
  readonly log: Logger;
  readonly facts: () => Facts;
}

export class RingFace {
  readonly #options: RingFaceOptions;
  /** The scene that is seen, as text. */
  #shown: string | undefined;
  #again = false;
  #drawing = false;

  constructor(options: RingFaceOptions) {
    this.#options = options;
  }

  /** Something may have changed. */
  async look(): Promise<void> {
    this.#again = true;
    if (this.#drawing || (this.#shown === undefined && !this.#rings)) return;
    this.#drawing = true;
    try {
      while (this.#again) {
        this.#again = false;
        await this.#draw();
      }
    } catch (thrown) {
      this.#options.log.warn({ reason: reasonOf(thrown) }, 'cannot show what rings');
    } finally {
      this.#drawing = false;
    }
  }

  get #rings(): boolean {
    const { ringing, ringingAlarms } = this.#options.facts();
    return ringing.length + ringingAlarms.length > 0;
  }

  async #draw(): Promise<void> {
    const { display, facts } = this.#options;
    const { ringing, ringingAlarms } = facts();
    if (!this.#rings) {
      if (this.#shown === undefined) return;
      this.#shown = undefined;
      return await display.remove(RING_SURFACE);
    }
    const surroundings = await display.surroundings();
    const scene = await drawRinging(ringing, surroundings, (texts) => display.measure(texts), ringingAlarms);
    const text = JSON.stringify(scene);
    if (text === this.#shown) return;
    const isNew = this.#shown === undefined;
    if (isNew) await display.wake('timer');
    await display.put({ id: RING_SURFACE, layer: 'voice', scene, modal: true, ...(isNew && { fadeMs: FADE_MS }) });
    this.#shown = text;
  }
}
