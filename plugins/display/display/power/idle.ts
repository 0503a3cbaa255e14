/** Whether the panel should be lit, pure: presence, what somebody did, and time go in. */
import type { PanelPower } from '@device-core/plugin-api/services/display';

export type Presence = 'present' | 'absent' | 'unknown';

export interface IdleSettings {
  /** Milliseconds without anybody until it is dimmed, and until it is off. */
  readonly dimMs: number;
  readonly offMs: number;
}

export class Idle {
  #settings: IdleSettings;
  #presence: Presence = 'unknown';
  /** Since when nobody was there, nothing was done and nothing held it. */
  #since: number;
  /** What somebody asked for: until something happens. */
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

  /** Somebody came: as good as a touch. Somebody went: the pauses begin. */
  presence(presence: Presence, now: number): void {
    const before = this.#presence;
    if (presence === before) return;
    this.#presence = presence;
    if (presence === 'present' || before === 'present') this.#since = now;
    // Who asked for darkness and stays wants darkness; who comes wants light.
    if (presence === 'present') this.#asked = undefined;
  }

  /** A turn of the voice, an open question: lit for as long. */
  hold(name: string, held: boolean, now: number): void {
    if (held === this.#holds.has(name)) return;
    if (held) this.#holds.add(name);
    else this.#holds.delete(name);
    this.act(now);
  }

  /** Somebody asks for it: so it stays until something happens. `on` is no more than a touch. */
  ask(power: PanelPower, now: number): void {
    this.act(now);
    if (power !== 'on') this.#asked = power;
  }

  at(now: number): PanelPower {
    if (this.#asked) return this.#asked;
    if (this.#presence === 'present' || this.#holds.size > 0) return 'on';
    const idle = now - this.#since;
    if (idle < this.#settings.dimMs) return 'on';
    // Nobody is known to be gone: a picture stays to be seen.
    return this.#presence === 'absent' && idle >= this.#settings.offMs ? 'off' : 'dim';
  }

  /** When it changes by itself; infinity where only somebody can change it. */
  next(now: number): number {
    if (this.#asked || this.#presence === 'present' || this.#holds.size > 0) return Number.POSITIVE_INFINITY;
    const { dimMs, offMs } = this.#settings;
    const idle = now - this.#since;
    if (idle < dimMs) return this.#since + dimMs;
    return this.#presence === 'absent' && idle < offMs ? this.#since + offMs : Number.POSITIVE_INFINITY;
  }
}
