/**
 * Seams between the folders of this plugin. `input/` finds the touched surface and hands the input over here; `power/` lights
 * and dims; `settings/` changes the look. None of them knows apps, focus or renderers.
 */

import type { Rect, Scene } from '@device-core/plugin-api/scene';
import type { DisplayState, PanelPower, SurfaceInput } from '@device-core/plugin-api/services/display';
import type { PanelInfo } from '@device-core/plugin-api/services/panel';
import type { CharacterPose, Layer, Surroundings } from '@device-core/plugin-api/services/renderer';

/** A surface as touch sees it: where it is, and the scene as it is shown now. */
export interface TouchableSurface {
  readonly id: string;
  readonly layer: Layer;
  readonly version: number;
  /** Panel units; hitTest() takes coordinates from its corner. */
  readonly box: Rect;
  readonly scene: Scene;
  /** Nothing below it is touched. */
  readonly modal: boolean;
  /** Monotonic milliseconds since which it is on the glass: prompts take no touch at first. */
  readonly shownAt: number;
}

/** For `input/`. */
export interface InputSeam {
  /** Visible surfaces, from above to below; hidden ones are left out. */
  surfacesFromAbove(): readonly TouchableSurface[];
  /** Delivers an input to the owner of the surface. A surface that is gone meanwhile gets nothing. */
  deliver(surface: string, input: SurfaceInput): void;
  /** Surface of the app in the foreground that hears keys and knobs, where nothing modal covers it. */
  foreground(): string | undefined;
  /** The home gesture: ends the foreground. */
  home(): void;
  /** Presence was noticed: pauses of power and foreground begin anew. */
  touched(): void;
  onTouched(listener: () => void): Disposable;
}

/** For `power/`. */
export interface LightSeam {
  readonly panel: PanelInfo | undefined;
  /** Frames stop where it is off; the tree goes on. Does not touch the panel's own power. */
  paused(paused: boolean): void;
  /** To the panel, where there is one and it can. Resolves with false where it cannot. */
  panelPower(on: boolean): Promise<boolean>;
  panelBrightness(level: number): Promise<boolean>;
  /** Content of `display.state`. */
  tell(change: Partial<Pick<DisplayState, 'power' | 'brightness'>>): void;
  readonly state: DisplayState;
  /** The panel is there (again): it needs power and brightness. */
  onPanel(listener: (panel: PanelInfo) => void): Disposable;
}

/** For `settings/`. */
export interface SurroundingsSeam {
  readonly surroundings: Surroundings;
  change(change: Partial<Surroundings>): void;
  pose(pose: CharacterPose): void;
}

/** Part of `power/` that the service and the operations call. */
export interface Light {
  power(power: PanelPower): Promise<void>;
  brightness(level: number): Promise<unknown>;
  wake(reason: string): Promise<void>;
  /** Lit for as long as something of this name holds it. */
  hold(name: string, held: boolean): void;
}
