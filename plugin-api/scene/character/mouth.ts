/** From what is heard to the shape of a mouth. */
import type { AudioLevel } from '../../services/renderer.ts';
import type { MouthShape } from './spec.ts';

/**
 * Properties of a voice: no two are as loud and as bright, and each has to open its mouth as far and as often as
 * another.
 */
export interface VoiceSound {
  /** Root mean square of its loud moments. */
  readonly loud: number;
  /** Brightness in the middle. */
  readonly bright: number;
}

export const USUAL_VOICE: VoiceSound = { loud: 0.2, bright: 0.06 };

/** Share of its loud moments at which a mouth opens to the next shape; it closes again a quarter below, or it would tremble. */
const OPENS = { closed: 0.03, small: 0.14, open: 0.45 } as const;
const CLOSES = 0.75;
/** Times as bright as the middle. Below: the mouth is round; above: it is wide. */
const ROUND = 0.66;
const WIDE = 1.45;
const SLACK = 0.12;

/** `former`: the shape of the level before. */
export function mouthOf(
  { rms, brightness }: Pick<AudioLevel, 'rms' | 'brightness'>,
  former: MouthShape = 'rest',
  voice: VoiceSound = USUAL_VOICE,
): MouthShape {
  const wide = former === 'open' || former === 'wide' || former === 'round';
  const above = (limit: number, was: boolean) => rms / voice.loud >= limit * (was ? CLOSES : 1);
  if (above(OPENS.open, wide)) {
    const times = brightness / voice.bright;
    if (times < ROUND + (former === 'round' ? SLACK : -SLACK)) return 'round';
    if (times > WIDE + (former === 'wide' ? -SLACK : SLACK)) return 'wide';
    return 'open';
  }
  if (above(OPENS.small, wide || former === 'small')) return 'small';
  if (above(OPENS.closed, former !== 'rest')) return 'closed';
  return 'rest';
}

/** A voice is known after a few words, and another one is not taken for the former. */
const LEAST_LOUD = 0.02;
const FORGETS = 0.98;
const LEARNS = 0.12;

function heard(voice: VoiceSound, { rms, brightness }: AudioLevel): VoiceSound {
  const loud = Math.max(LEAST_LOUD, rms, voice.loud * (rms > 0 ? FORGETS : 1));
  if (rms < loud * OPENS.open) return { ...voice, loud };
  return { loud, bright: Math.max(0.005, voice.bright + (brightness - voice.bright) * LEARNS) };
}

/** Levels that wait to be heard: 5 s. */
const MOST = 128;
/** After the last level the mouth shuts, should the silence at the end be lost. */
const SHUT_MS = 200;

/** The levels that came, and the shape of now. One for each renderer; `take` what `levels()` brings, and ask `at` for each picture. */
export class Mouth {
  #levels: AudioLevel[] = [];
  #shape: MouthShape = 'rest';
  #voice = USUAL_VOICE;
  #last = Number.NEGATIVE_INFINITY;

  /** In the order of their time. Those of a sound that was broken off, and that are said anew, replace the former ones. */
  take(levels: readonly AudioLevel[]): void {
    const [first] = levels;
    if (!first) return;
    this.#levels = [...this.#levels.filter(({ at }) => at < first.at), ...levels].slice(-MOST);
  }

  /**
   * The shape of that monotonic time, and the milliseconds until there may be another; absent: nothing is heard any
   * more. Time goes forward.
   */
  at(now: number): { readonly shape: MouthShape; readonly next?: number } {
    while (this.#levels[0] && this.#levels[0].at <= now) {
      const level = this.#levels.shift()!;
      this.#voice = heard(this.#voice, level);
      this.#shape = mouthOf(level, this.#shape, this.#voice);
      this.#last = level.at;
    }
    if (now - this.#last >= SHUT_MS) this.#shape = 'rest';
    const soon = this.#levels[0]?.at ?? (this.#shape === 'rest' ? undefined : this.#last + SHUT_MS);
    return soon === undefined ? { shape: this.#shape } : { shape: this.#shape, next: Math.max(1, soon - now) };
  }
}
