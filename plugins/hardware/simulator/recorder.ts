/** Controls used by hand, as steps. Pure: time and controls come in. */

import { maybe } from '@device-core/plugin-api';
import type { Scenario, Step } from './scenario.ts';
import { MOST_BYTES, MOST_MS, MOST_STEPS } from './scenario-schema.ts';

export class Recorder {
  readonly name: string;
  readonly #title: string | undefined;
  readonly #began: number;
  readonly #steps: Step[] = [];
  #last: number;
  #bytes = 0;
  /** More came than a scenario holds: what came after is not in it. */
  full = false;
  /** Nothing more comes: it is being written. */
  ended = false;

  constructor(name: string, title: string | undefined, now: number) {
    this.name = name;
    this.#title = title;
    this.#began = now;
    this.#last = now;
  }

  get steps(): number {
    return this.#steps.length;
  }

  /** A control was used at `now`, in milliseconds that never jump. */
  did(name: string, params: Readonly<Record<string, unknown>>, now: number): void {
    if (this.ended) return;
    const wait = Math.max(0, Math.round(now - this.#last));
    const step: Step = {
      ...(wait > 0 && { after: wait }),
      do: name,
      ...(Object.keys(params).length > 0 && { params }),
    };
    const bytes = JSON.stringify(step).length + 64;
    // Half of a file is for the title and for what escapes take.
    if (this.#steps.length >= MOST_STEPS || 2 * (this.#bytes + bytes) > MOST_BYTES || now - this.#began > MOST_MS) {
      this.full = true;
      return;
    }
    this.#bytes += bytes;
    // Rounding does not add up.
    this.#last += wait;
    this.#steps.push(step);
  }

  get scenario(): Scenario {
    return { name: this.name, ...maybe({ title: this.#title }), steps: this.#steps };
  }
}
