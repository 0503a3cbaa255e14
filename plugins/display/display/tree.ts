/** Composed tree of all surfaces, for any renderer. A renderer gets the changes since its last patch, or the whole tree. */

import { CoreError, maybe } from '@device-core/plugin-api';
import {
  PANEL_UNITS,
  patchSceneAt,
  type Rect,
  type Scene,
  type ScenePatch,
  timed,
} from '@device-core/plugin-api/scene';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import {
  type CharacterPose,
  LAYERS,
  type Layer,
  type Surface,
  type Surroundings,
  type TreePatch,
} from '@device-core/plugin-api/services/renderer';

export const WHOLE: Rect = { x: 0, y: 0, w: PANEL_UNITS, h: PANEL_UNITS };
/** Maximum patches of one surface that wait for the renderer; with more the surface is sent whole. */
const MOST_PATCHES = 16;
const TRANSLUCENT = ['@shadow', '@scrim', '@character-glow'];
/** No limit: a surface that was slowed down says so to a renderer that keeps what it is not told. */
const MOST_FPS = 60;
/** Surfaces that are gone, of which the version is remembered. */
const MOST_VERSIONS = 256;

export type Placing = Pick<Surface, 'box' | 'opacity' | 'fadeMs' | 'hidden' | 'fps'>;

export interface NewSurface extends Partial<Placing> {
  readonly id: string;
  readonly layer: Layer;
  readonly scene: Scene;
  /** Nothing below it is touched. */
  readonly modal?: boolean;
  /** Not for viewers far away. */
  readonly sensitive?: boolean;
}

export interface Row {
  readonly surface: Surface;
  readonly modal: boolean;
  readonly sensitive: boolean;
  /** Monotonic milliseconds since which it is seen. */
  readonly shownAt: number;
}

/** Changes of a surface that the renderer has not had yet. */
interface Untold {
  whole: boolean;
  place: boolean;
  readonly patches: { readonly patch: ScenePatch; readonly since: number }[];
}

export class Tree {
  readonly #rows = new Map<string, Row>();
  readonly #untold = new Map<string, Untold>();
  readonly #removed = new Set<string>();
  readonly #versions = new Map<string, number>();
  /** Surfaces of which the renderer may still show something sensitive. */
  readonly #covered = new Set<string>();
  /** How often something sensitive was put. */
  covers = 0;
  readonly #changed: () => void;
  #surroundings: Surroundings;
  #pose: CharacterPose = { state: 'idle', expression: 'neutral' };
  #figure: TreePatch['figure'];
  #news: { surroundings?: Surroundings; character?: CharacterPose; figure?: NonNullable<TreePatch['figure']> } = {};

  /** `changed` is called after each change, often many times in one turn. */
  constructor(surroundings: Surroundings, changed: () => void) {
    this.#surroundings = surroundings;
    this.#changed = changed;
  }

  get surroundings(): Surroundings {
    return this.#surroundings;
  }

  get pose(): CharacterPose {
    return this.#pose;
  }

  get(id: string): Row | undefined {
    return this.#rows.get(id);
  }

  /** From below to above; within a layer the one that came later is above. */
  get rows(): readonly Row[] {
    return [...this.#rows.values()].sort((one, other) => one.surface.layer - other.surface.layer);
  }

  /** Answers with the version of its scene. Versions of an id go up even where it was away meanwhile. */
  put({ modal = false, sensitive = false, box = WHOLE, fadeMs, ...rest }: NewSurface): number {
    const { id, hidden = false } = rest;
    if (sensitive) {
      this.#covered.add(id);
      this.covers += 1;
    }
    // A fade would show the former picture on after it was taken away.
    const fade = fadeMs === undefined || (this.#covered.has(id) && !sensitive) ? {} : { fadeMs };
    const version = this.#nextVersion(id);
    const former = this.#rows.get(id);
    const now = monotonicMs();
    const seen = former !== undefined && !former.surface.hidden && !hidden;
    const shownAt = seen ? former.shownAt : now;
    if (former && former.surface.layer !== rest.layer) this.#rows.delete(id);
    const scene = timed(rest.scene, now);
    const surface = { ...rest, ...fade, scene, box, version, since: now };
    this.#rows.set(id, { surface, modal, sensitive, shownAt });
    this.#of(id).whole = true;
    this.#changed();
    return version;
  }

  /** Another scene in a surface that is there, which stays what it is. */
  redraw(id: string, scene: Scene): void {
    const row = this.#rows.get(id);
    if (!row) return;
    const since = monotonicMs();
    const version = this.#nextVersion(id);
    this.#rows.set(id, { ...row, surface: { ...row.surface, scene: timed(scene, since), version, since } });
    this.#of(id).whole = true;
    this.#changed();
  }

  /** The new version. Throws SCENE_INVALID, SCENE_CONFLICT, NOT_FOREGROUND. */
  patch(id: string, patch: ScenePatch, what = id): number {
    const row = this.#rows.get(id);
    if (!row) throw new CoreError('NOT_FOREGROUND', { verb: `change ${what}`, reason: 'there is no such surface' });
    const { surface } = row;
    if (patch.version !== surface.version)
      throw new CoreError('SCENE_CONFLICT', { what, version: surface.version, expected: patch.version });
    const now = monotonicMs();
    const scene = patchSceneAt(surface.scene, patch, { began: surface.since, since: now, now }, what);
    const version = this.#nextVersion(id);
    this.#rows.set(id, { ...row, surface: { ...surface, scene, version } });
    const untold = this.#of(id);
    if (untold.patches.length === MOST_PATCHES) untold.whole = true;
    else untold.patches.push({ patch, since: now });
    this.#changed();
    return version;
  }

  /** Members of a surface but its scene; undefined takes one away. What is not there is left alone. */
  place(id: string, placing: { readonly [member in keyof Placing]?: Placing[member] | undefined }): void {
    const row = this.#rows.get(id);
    if (!row) return;
    const shows = row.surface.hidden === true && placing.hidden === false;
    const surface = Object.fromEntries(
      Object.entries({ ...row.surface, ...placing }).filter(([, value]) => value !== undefined),
    ) as unknown as Surface;
    this.#rows.set(id, { ...row, surface, shownAt: shows ? monotonicMs() : row.shownAt });
    this.#of(id).place = true;
    this.#changed();
  }

  remove(id: string): boolean {
    if (!this.#rows.delete(id)) return false;
    this.#untold.delete(id);
    this.#removed.add(id);
    this.#changed();
    return true;
  }

  /** True while there is something sensitive in it, or a renderer may not have taken it away yet. */
  get covered(): boolean {
    return this.#covered.size > 0;
  }

  get sensitive(): boolean {
    return [...this.#covered].some((id) => this.#rows.get(id)?.sensitive);
  }

  /** No renderer shows anything sensitive any more. */
  uncover(): void {
    this.#covered.clear();
  }

  surround(surroundings: Surroundings): void {
    this.#surroundings = surroundings;
    this.#news.surroundings = surroundings;
    this.#changed();
  }

  strike(pose: CharacterPose): void {
    this.#pose = pose;
    this.#news.character = pose;
    this.#changed();
  }

  /** How the character is drawn from now on. */
  dress(figure: NonNullable<TreePatch['figure']>): void {
    this.#figure = figure;
    this.#news.figure = figure;
    this.#changed();
  }

  /** All of it, for a renderer that begins anew. */
  whole(): Omit<TreePatch, 'base' | 'revision'> {
    this.#told();
    const figure = this.#figure;
    return {
      surroundings: this.#surroundings,
      character: this.#pose,
      ...maybe({ figure }),
      set: this.rows.map(({ surface }) => surface),
    };
  }

  /** Changes since the last call; undefined where there are none. */
  changes(): Omit<TreePatch, 'base' | 'revision'> | undefined {
    if (this.#removed.size === 0 && this.#untold.size === 0 && Object.keys(this.#news).length === 0) return undefined;
    const set: Surface[] = [];
    const patch: NonNullable<TreePatch['patch']>[number][] = [];
    const place: NonNullable<TreePatch['place']>[number][] = [];
    for (const [id, untold] of this.#untold) {
      const row = this.#rows.get(id)!;
      if (untold.whole) {
        set.push(row.surface);
        continue;
      }
      patch.push(...untold.patches.map((one) => ({ surface: id, ...one })));
      if (untold.place) place.push(placeOf(row.surface));
    }
    // A surface that went and came back has another place in its layer, so the renderer removes it first.
    const remove = [...this.#removed];
    const news = this.#news;
    this.#told();
    return {
      ...maybe({ surroundings: news.surroundings }),
      ...(remove.length > 0 && { remove }),
      ...(set.length > 0 && { set }),
      ...(patch.length > 0 && { patch }),
      ...(place.length > 0 && { place }),
      ...maybe({ character: news.character, figure: news.figure }),
    };
  }

  #told(): void {
    this.#removed.clear();
    this.#untold.clear();
    this.#news = {};
  }

  #of(id: string): Untold {
    const untold = this.#untold.get(id) ?? { whole: false, place: false, patches: [] };
    this.#untold.set(id, untold);
    return untold;
  }

  #nextVersion(id: string): number {
    const version = (this.#versions.get(id) ?? 0) + 1;
    this.#versions.delete(id);
    this.#versions.set(id, version);
    if (this.#versions.size > MOST_VERSIONS + this.#rows.size) {
      const [gone] = [...this.#versions.keys()].filter((one) => one !== id && !this.#rows.has(one));
      if (gone !== undefined) this.#versions.delete(gone);
    }
    return version;
  }
}

/** Every member, so that one that went is back at what it is without being said. */
function placeOf({ id, box, opacity = 1, fadeMs, hidden = false, fps }: Surface) {
  return {
    surface: id,
    box,
    opacity,
    hidden,
    ...maybe({ fadeMs }),
    fps: fps ?? MOST_FPS,
  };
}

/** Is nothing seen below it? Tokens of the theme are opaque but those of shadow, scrim and glow. */
export function coversAll(box: Rect, { background = '@surface' }: Scene): boolean {
  const whole = box.x <= 0 && box.y <= 0 && box.x + box.w >= PANEL_UNITS && box.y + box.h >= PANEL_UNITS;
  if (!whole || typeof background !== 'string') return false;
  if (background.startsWith('@')) return !TRANSLUCENT.includes(background);
  return background.length === 7 || background.toLowerCase().endsWith('ff');
}

/** Cover over the layer of apps: `modal` takes their touch, `opaque` hides them too; undefined where neither is there. */
export function coverOfApps(tree: Tree): 'modal' | 'opaque' | undefined {
  const above = tree.rows.filter(
    ({ surface }) => surface.layer > LAYERS.app && !surface.hidden && surface.opacity !== 0,
  );
  const opaque = above.some(({ surface }) => (surface.opacity ?? 1) === 1 && coversAll(surface.box, surface.scene));
  if (opaque) return 'opaque';
  return above.some(({ modal }) => modal) ? 'modal' : undefined;
}
