import type { Clock } from '@device-core/plugin-api';
import { describeScene } from '@device-core/plugin-api/scene';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import { LAYERS } from '@device-core/plugin-api/services/renderer';
import type { TouchableSurface } from '../seams.ts';
import { coversAll, type Tree } from '../tree.ts';
import { type TapTarget, tapTargets } from './targets.ts';

const MOST_TARGETS = 64;

/** Reads the tree as a person sees it: visible surfaces, their lines, and the nodes that can be tapped. */
export class ScreenReader {
  readonly #tree: Tree;
  readonly #clock: Clock;
  /** App in the foreground. */
  readonly #front: () => string | undefined;

  constructor(tree: Tree, clock: Clock, front: () => string | undefined) {
    this.#tree = tree;
    this.#clock = clock;
    this.#front = front;
  }

  /** Visible surfaces, from above to below. */
  surfaces(): readonly TouchableSurface[] {
    return this.#tree.rows
      .filter(({ surface }) => !surface.hidden && surface.opacity !== 0)
      .map(({ surface: { id, layer, version, box, scene }, modal, shownAt }) => {
        return { id, layer, version, box, scene, modal, shownAt };
      })
      .reverse();
  }

  /** Visible lines, from above to below; sensitive ones are left out if `clear` is false. */
  describe(surface?: string, clear = true): readonly string[] {
    const all = this.surfaces();
    const asked = surface === undefined ? seen(all) : all.filter(({ id }) => id === surface);
    return this.#lines(asked.filter((one) => clear || !this.#isSensitive(one)));
  }

  /** Visible lines without the layer of the voice and with what it covers: a person who asks for the screen does not mean the answer. */
  read(): readonly string[] {
    const front = this.#front();
    const below = this.#tree.rows
      .map(({ surface }) => surface)
      .filter(({ id, layer, hidden, opacity }) => {
        return layer !== LAYERS.voice && opacity !== 0 && (!hidden || id === `app:${front}`);
      });
    return this.#lines(seen(below.reverse()));
  }

  /** Visible nodes that can be tapped. */
  targets(surface?: string, clear = true): readonly TapTarget[] {
    const all = this.surfaces().filter((one) => clear || !this.#isSensitive(one));
    const asked = surface === undefined ? all : all.filter(({ id }) => id === surface);
    return tapTargets(asked, monotonicMs(), this.#world, MOST_TARGETS);
  }

  #isSensitive({ id }: Pick<TouchableSurface, 'id'>): boolean {
    return this.#tree.get(id)?.sensitive === true;
  }

  #lines(surfaces: readonly Pick<TouchableSurface, 'scene'>[]): readonly string[] {
    return surfaces.flatMap(({ scene }) => describeScene(scene, this.#world));
  }

  get #world() {
    const { locale, timeZone } = this.#tree.surroundings;
    return { now: this.#clock.now(), locale, timeZone };
  }
}

/** Those that nothing hides, of surfaces from above. */
function seen<S extends Pick<TouchableSurface, 'box' | 'scene'>>(all: readonly S[]): readonly S[] {
  const ground = all.findIndex(({ box, scene }) => coversAll(box, scene));
  return ground < 0 ? all : all.slice(0, ground + 1);
}
