import { serviceRef } from '../contract/service-ref.ts';
import type { Card } from '../scene/card.ts';
import type { CharacterSpec } from '../scene/character/spec.ts';
import type { Rect } from '../scene/rect.ts';
import type { Scene, ScenePatch } from '../scene/scene.ts';
import type { AudioLevel, CharacterPose, LAYERS, Surroundings, TextQuestion, TextSize } from './renderer.ts';

export const PANEL_POWER = ['on', 'dim', 'off'] as const;
export type PanelPower = (typeof PANEL_POWER)[number];

/** Event `display.state`. */
export interface DisplayState {
  readonly power: PanelPower;
  /** App in the foreground. */
  readonly app?: string;
  /** 0..1 */
  readonly brightness: number;
  /** Renderer that paints now. */
  readonly renderer?: string;
  readonly panel?: string;
  /** Why nothing is seen. */
  readonly problem?: string;
}

export type SurfaceState = 'foreground' | 'covered' | 'hidden';

/** A touch that was meant for a surface. */
export interface SurfaceInput {
  /** Version of the scene that was touched. */
  readonly scene: number;
  /** Id of the node, where it has one, and its `tap`. */
  readonly node?: string;
  readonly tap?: string;
  readonly phase: 'tap' | 'long-press' | 'swipe' | 'key' | 'rotary';
  /** Panel units from the corner of the surface. */
  readonly x?: number;
  readonly y?: number;
  readonly direction?: 'left' | 'right' | 'up' | 'down';
  /** Name of the key or knob. */
  readonly key?: string;
  readonly delta?: number;
}

/**
 * A screen that a plugin draws. Layers `home` and `voice` are open to every plugin that has the service; `banner` and
 * `toast` are of plugin `notify`, `prompt` and `system` of plugin `system-view`, and none of them of a plugin from
 * outside of the tree.
 */
export interface PluginSurface {
  /** Unique among the surfaces of the plugin. */
  readonly id: string;
  readonly layer: Exclude<keyof typeof LAYERS, 'app'>;
  readonly scene: Scene | Card;
  /** The whole panel if absent. */
  readonly box?: Rect;
  /** The former picture of this surface fades into the new one. */
  readonly fadeMs?: number;
  /** Nothing below gets touches while it is there; so it is for `prompt` in any case. */
  readonly modal?: boolean;
  /** Picture and text stay at the panel: remote viewers and apps get neither. It fades into nothing. */
  readonly sensitive?: boolean;
}

/**
 * The screen, for plugins of the Core (plugin `display`), each of which sees its own surfaces alone. Apps use the
 * operations `display.*`.
 */
export interface Display {
  /**
   * Puts or replaces a surface; resolves with its version when it is in the tree. Throws SCENE_INVALID, PARAMS_INVALID
   * (a layer that is not this plugin's).
   */
  put(surface: PluginSurface): Promise<number>;
  /** Throws SCENE_INVALID, SCENE_CONFLICT, NOT_FOREGROUND (there is no such surface). */
  patch(surface: string, patch: ScenePatch): Promise<number>;
  remove(surface: string): Promise<void>;
  /**
   * Called with what was touched of its surfaces. The uppermost one of layer `home` hears the key `home`, too: by
   * gesture, key or word the person wants to be there.
   */
  onInput(listener: (surface: string, input: SurfaceInput) => void): Disposable;
  /** Bytes that scenes may name by the answer, `sha256-...`. Throws IMAGE_INVALID. */
  image(bytes: Uint8Array): Promise<string>;
  measure(texts: readonly TextQuestion[]): Promise<readonly TextSize[]>;
  surroundings(): Promise<Surroundings>;
  /** Calls `listener` to draw again: theme, text scale or language changed. */
  onSurroundings(listener: (surroundings: Surroundings) => void): Disposable;
  state(): Promise<DisplayState>;
  /** Called at once and after each change. */
  onState(listener: (state: DisplayState) => void): Disposable;
  pose(pose: CharacterPose): Promise<void>;
  /** How the character is drawn from now on; it was checked (`checkCharacter`). */
  dress(figure: CharacterSpec): Promise<void>;
  /** Levels of the device's own voice, some moments ahead; the mouth of the character follows them. */
  levels(levels: readonly AudioLevel[]): Promise<void>;
  /** The person wants to see this app, as from a launcher. Throws APP_NOT_FOUND, APP_NOT_RUNNING. */
  open(app: string): Promise<void>;
  /** Ends the foreground. */
  home(): Promise<void>;
  /** Lights the panel; `reason` for the log: `voice`. */
  wake(reason: string): Promise<void>;
  power(power: PanelPower): Promise<void>;
  brightness(level: number): Promise<void>;
  /** The screen as text, in reading order. */
  describe(): Promise<readonly string[]>;
}

export const display = serviceRef<Display>('display', '1.0.0', 'powerful', 'shows pictures on the screen');

/** One thing that was told to the person, kept for the list. */
export interface Notification {
  readonly id: string;
  readonly kind: 'toast' | 'banner';
  /** App that asked, and its real title; absent for the Core's own. */
  readonly app?: string;
  readonly title: string;
  readonly text: string;
  readonly level: 'info' | 'success' | 'warn' | 'error';
  readonly icon?: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly state: 'waiting' | 'showing' | 'shown' | 'dropped' | 'dismissed';
  /** How often the same was asked for. */
  readonly count: number;
  readonly progress?: number;
  readonly buttons?: readonly { readonly id: string; readonly title: string }[];
}

/** Toasts and banners (plugin `display`); they are asked for by events `ui.toast` and `ui.banner`. */
export interface Notifications {
  /** Newest first; at most 200 are kept. */
  list(): Promise<readonly Notification[]>;
  dismiss(id: string): Promise<void>;
  onChange(listener: (notifications: readonly Notification[]) => void): Disposable;
}

export const notifications = serviceRef<Notifications>(
  'notifications',
  '1.0.0',
  'powerful',
  'reads and dismisses what people are told',
);
