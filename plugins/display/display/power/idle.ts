/** Power state of the panel, pure: presence, acts of a person, and time go in. */
import type { PanelPower } from '@device-core/plugin-api/services/display';

export type Presence = 'present' | 'absent' | 'unknown';

export interface IdleSettings {
  /** Milliseconds without presence after which the panel is dimmed, and after which it is off. */
  readonly dimMs: number;
  readonly offMs: number;
}

export class Idle {
  #settings: IdleSettings;
  #presence: Presence = 'unknown';
  /** Time since which there was no presence, no act and no hold. */
  #since: number;
  /** Power state that was requested; it lasts until the next act. */
  #asked: PanelPower | undefined;
  readonly #holds = new Set<string>();

  constructor(settings: IdleSettings, now: number) {
    this.#settings = settings;
    this.#since = now;
  }

  use({ dimMs, offMs }: IdleSettings): void {
    this.#settings = { dimMs, offMs };
  }

  /** A touch, a wake word, a prompt: the panel is lit, and the pauses begin anew. */
  act(now: number): void {
    this.#asked = undefined;
    this.#since = now;
  }

  /** Arrival counts as a touch. Departure begins the pauses. */
  presence(presence: Presence, now: number): void {
    const before = this.#presence;
    if (presence === before) return;
    this.#presence = presence;
    if (presence === 'present' || before === 'present') this.#since = now;
    // A request for darkness holds while the person stays; an arrival ends it.
    if (presence === 'present') this.#asked = undefined;
  }

  /** A turn of the voice, an open question: lit for as long. */
  hold(name: string, held: boolean, now: number): void {
    if (held === this.#holds.has(name)) return;
    if (held) this.#holds.add(name);
    else this.#holds.delete(name);
    this.act(now);
  }

  /** Requested state lasts until the next act. `on` is no more than a touch. */
  ask(power: PanelPower, now: number): void {
    this.act(now);
    if (power !== 'on') this.#asked = power;
  }

  at(now: number): PanelPower {
    if (this.#asked) return this.#asked;
    if (this.#presence === 'present' || this.#holds.size > 0) return 'on';
    const idle = now - this.#since;
    if (idle < this.#settings.dimMs) return 'on';
    // Absence is not certain, so the picture stays visible.
    return this.#presence === 'absent' && idle >= this.#settings.offMs ? 'off' : 'dim';
  }

  /** Time of the next change without an act; infinity where only an act changes it. */
  next(now: number): number {
    if (this.#asked || this.#presence === 'present' || this.#holds.size > 0) return Number.POSITIVE_INFINITY;
    const { dimMs, offMs } = this.#settings;
    const idle = now - this.#since;
    if (idle < dimMs) return this.#since + dimMs;
    return this.#presence === 'absent' && idle < offMs ? this.#since + offMs : Number.POSITIVE_INFINITY;
  }
}
