/** From what is heard to the shape of a mouth. */
import type { AudioLevel } from '../../services/renderer.ts';
import type { MouthShape } from './spec.ts';

/** Loudness at which a mouth opens to the next shape; it closes again a quarter below, or it would tremble. */
const OPENS = { closed: 0.008, small: 0.03, open: 0.085 } as const;
const CLOSES = 0.75;
/** Below: the mouth is round; above: it is wide. */
const ROUND = 0.16;
const WIDE = 0.42;
const SLACK = 0.04;

/** `former`: the shape of the level before. */
export function mouthOf(
  { rms, brightness }: Pick<AudioLevel, 'rms' | 'brightness'>,
  former: MouthShape = 'rest',
): MouthShape {
  const loud = former === 'open' || former === 'wide' || former === 'round';
  const above = (limit: number, was: boolean) => rms >= limit * (was ? CLOSES : 1);
  if (above(OPENS.open, loud)) {
    if (brightness < ROUND + (former === 'round' ? SLACK : -SLACK)) return 'round';
    if (brightness > WIDE + (former === 'wide' ? -SLACK : SLACK)) return 'wide';
    return 'open';
  }
  if (above(OPENS.small, loud || former === 'small')) return 'small';
  if (above(OPENS.closed, former !== 'rest')) return 'closed';
  return 'rest';
}

/** Levels that wait to be heard: 5 s. */
const MOST = 128;
/** After the last level the mouth shuts, should the silence at the end be lost. */
const SHUT_MS = 200;

/** The levels that came, and the shape of now. One for each renderer; `take` what `levels()` brings, and ask `at` for each picture. */
export class Mouth {
  #levels: AudioLevel[] = [];
  #shape: MouthShape = 'rest';
  #last = Number.NEGATIVE_INFINITY;

  /** In the order of their time. Those of a sound that was broken off, and that are said anew, replace the former ones. */
  take(levels: readonly AudioLevel[]): void {
    const [first] = levels;
    if (!first) return;
    this.#levels = [...this.#levels.filter(({ at }) => at < first.at), ...levels].slice(-MOST);
  }

  /** The shape of that monotonic time, and the milliseconds until there may be another; absent: nothing is heard any more. Time goes forward. */
  at(now: number): { readonly shape: MouthShape; readonly next?: number } {
    while (this.#levels[0] && this.#levels[0].at <= now) {
      const level = this.#levels.shift()!;
      this.#shape = mouthOf(level, this.#shape);
      this.#last = level.at;
    }
    if (now - this.#last >= SHUT_MS) this.#shape = 'rest';
    const soon = this.#levels[0]?.at ?? (this.#shape === 'rest' ? undefined : this.#last + SHUT_MS);
    return soon === undefined ? { shape: this.#shape } : { shape: this.#shape, next: Math.max(1, soon - now) };
  }
}
