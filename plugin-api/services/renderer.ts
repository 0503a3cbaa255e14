import { serviceRef } from '../contract/service-ref.ts';
import type { CharacterSpec } from '../scene/character/spec.ts';
import type { Rect } from '../scene/rect.ts';
import type { CharacterState, Expression, Scene, ScenePatch, TextRole } from '../scene/scene.ts';
import { NIGHT, type Theme } from '../scene/theme.ts';
import type { PanelFrame, PanelInfo } from './panel.ts';

/** Layers of the screen, from below: home, the app in the foreground, the voice turn, a banner, a toast, a prompt, the system. */
export const LAYERS = { home: 0, app: 1, voice: 2, banner: 3, toast: 4, prompt: 5, system: 6 } as const;
export type Layer = (typeof LAYERS)[keyof typeof LAYERS];

/** A scene at its place in the tree that a renderer paints. */
export interface Surface {
  /** `home`, `app:com.example.agenda`, `toast`. */
  readonly id: string;
  readonly layer: Layer;
  /** Counts up with each change of the scene. */
  readonly version: number;
  /** Panel units; the scene begins at its corner, and nothing is painted outside but shadows of the Core's own. */
  readonly box: Rect;
  readonly scene: Scene;
  /** Monotonic milliseconds at which the timelines of the scene began: a renderer that comes later goes on where they are. */
  readonly since: number;
  /** 0..1; it changes over `fadeMs` where that is given. */
  readonly opacity?: number;
  readonly fadeMs?: number;
  /** Kept, but neither painted nor animated. */
  readonly hidden?: boolean;
  /** Frames a second for its own timelines at most. */
  readonly fps?: number;
}

/** Settings that apply to all scenes. */
export interface Surroundings {
  readonly theme: Theme;
  /** 1, 1.25, 1.5 or 2: sizes of roles and texts, within their boxes. */
  readonly textScale: number;
  /** Timelines jump to their end, only opacity fades. */
  readonly reducedMotion: boolean;
  /** No shadows. */
  readonly plain: boolean;
  /** Most frames a second of the whole screen. */
  readonly fps: number;
  /** BCP 47; direction of what says `auto` and has no letters. */
  readonly locale: string;
  readonly timeZone: string;
  /** 0..1 of the light of what is painted, for panels that cannot be dimmed. 1 else. */
  readonly light: number;
}

/** Before `display` has said how things are drawn. */
export const PLAIN_SURROUNDINGS: Surroundings = {
  theme: NIGHT,
  textScale: 1,
  reducedMotion: false,
  plain: false,
  fps: 30,
  locale: 'en',
  timeZone: 'UTC',
  light: 1,
};

/** Present pose of the character. */
export interface CharacterPose {
  readonly state: CharacterState;
  readonly expression: Expression;
  /** Direction of its look, -1..1 each; it wanders by itself if absent. */
  readonly gaze?: readonly [x: number, y: number];
}

/** A change of the composed tree. Applied whole or not at all, in this order. */
export interface TreePatch {
  /** Revision that it is made for; 0 begins anew, with nothing. */
  readonly base: number;
  readonly revision: number;
  readonly surroundings?: Surroundings;
  /** Ids of surfaces. */
  readonly remove?: readonly string[];
  /** New surfaces, and those that replace one of the same id. Within a layer the later one is above. */
  readonly set?: readonly Surface[];
  /** Changes of scenes that were checked; `since` is when their timelines begin. */
  readonly patch?: readonly { readonly surface: string; readonly patch: ScenePatch; readonly since: number }[];
  /** Members of surfaces but the scene. */
  readonly place?: readonly ({ readonly surface: string } & Partial<
    Pick<Surface, 'box' | 'opacity' | 'fadeMs' | 'hidden' | 'fps'>
  >)[];
  readonly character?: CharacterPose;
  /** How the character is drawn (`characterNodes`). Kept until another comes; without any, `character` nodes stay empty. */
  readonly figure?: CharacterSpec;
}

export interface TextQuestion {
  readonly text: string;
  readonly role?: TextRole;
  readonly size?: number;
  readonly weight?: 400 | 700;
  readonly font?: string;
  readonly tabular?: boolean;
  /** Units; unbounded if absent. */
  readonly width?: number;
  readonly lines?: number;
}

export interface TextSize {
  /** Width of the widest line. */
  readonly width: number;
  /** Height of all lines. */
  readonly height: number;
  readonly lines: number;
  readonly cut: boolean;
  /** Letters of it that no font has: a sign stands in their place. Absent: none, or the renderer does not know. */
  readonly missing?: number;
}

/** One moment of what is heard, on the monotonic clock of the speaker. */
export interface AudioLevel {
  readonly at: number;
  /** 0..1 */
  readonly rms: number;
  /** 0 (dark, `oo`) .. 1 (bright, `s`): share of energy in the upper half of the voice. */
  readonly brightness: number;
}

export interface SurfaceCost {
  readonly surface: string;
  readonly frames: number;
  /** CPU milliseconds of painting it. */
  readonly cpuMs: number;
}

export interface RendererReport {
  /** Frames, bytes to the panel and CPU of all surfaces together since the last report. */
  readonly frames: number;
  readonly cpuMs: number;
  readonly pixels: number;
  readonly surfaces: readonly SurfaceCost[];
  /** Milliseconds that it covers. */
  readonly ms: number;
  /** Characters that no font has, each once. */
  readonly missingGlyphs: readonly string[];
}

export interface Opening {
  readonly panel: PanelInfo;
  /** Takes frames one at a time, the next when it resolves. Meanwhile damage adds up. After a rejection a whole frame comes. */
  present(frame: PanelFrame): Promise<{ readonly at: number }>;
  /** At most once a second, and only while something is painted. */
  report(report: RendererReport): void;
}

/**
 * Keeps the composed tree, runs its timelines and bindings, and paints what changed: nothing while nothing changes.
 * `render-skia` and `render-soft` implement it. What needs a tree rejects with UNAVAILABLE where it is not open.
 */
export interface Renderer {
  /**
   * From now on it owns the panel; the tree is empty. Opening again begins anew. What it answers is kept until then: it
   * holds `present` and `report`.
   */
  open(opening: Opening): Promise<AsyncDisposable>;
  /** Nothing is painted any more, no timer runs. Disposing what `open` answered does the same, where that is still open. */
  close(): Promise<void>;
  /** Resolves when it is in the tree, with the number of the first frame that shows it. Rejects with SCENE_CONFLICT (another revision). */
  apply(patch: TreePatch): Promise<{ readonly frame: number }>;
  /** Works without being opened. As surroundings are given, or those of the tree. */
  measure(texts: readonly TextQuestion[], surroundings?: Surroundings): Promise<readonly TextSize[]>;
  /**
   * Decodes in its own time, one after the other. The bytes were looked at: PNG, JPEG or WebP of at most 2,048 x 2,048.
   * Rejects with IMAGE_INVALID.
   */
  image(name: string, bytes: Uint8Array): Promise<{ readonly width: number; readonly height: number }>;
  dropImages(names: readonly string[]): Promise<void>;
  /** A part of a video node's picture; the stream waits for it. */
  video(
    surface: string,
    stream: string,
    picture: { readonly width: number; readonly height: number; readonly rect: Rect; readonly rgba: Uint8Array },
  ): Promise<void>;
  /** Levels of the voice, some moments ahead: the mouth shows the present one. */
  levels(levels: readonly AudioLevel[]): Promise<void>;
  /** PNG of the whole screen, or of one surface alone on its background. */
  snapshot(options?: { readonly surface?: string }): Promise<Uint8Array>;
  /** No frame while paused; the tree goes on. The first frame after it is whole. */
  pause(paused: boolean): Promise<void>;
}

/** Registry of renderers (plugin `display`). It opens the first working one, in the order of the SKU, and the next where that fails. */
export interface Renderers {
  /** `id`: `skia`. Throws PARAMS_INVALID (a second one of this id). */
  register(id: string, renderer: Renderer): AsyncDisposable;
}

export const renderers = serviceRef<Renderers>('renderers', '1.0.0', 'powerful', 'paints the whole screen');
