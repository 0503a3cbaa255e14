/** Answers of the Core to this page. */

export interface DisplayState {
  readonly power: 'on' | 'dim' | 'off';
  readonly brightness: number;
  readonly app?: string;
  readonly renderer?: string;
  readonly panel?: string;
  readonly problem?: string;
}

export interface Surface {
  readonly id: string;
  readonly layer: string;
  readonly app?: string;
  readonly state: 'foreground' | 'covered' | 'hidden';
  readonly fps?: number;
  readonly frames?: number;
  readonly cpuMs?: number;
  readonly budgetMs?: number;
}

export interface Surfaces {
  readonly surfaces: readonly Surface[];
  readonly report: { readonly at: number; readonly ms: number; readonly frames: number; readonly cpuMs: number };
}

export interface Target {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly guarded?: boolean;
}

export interface Described {
  readonly text: readonly string[];
  readonly targets?: readonly Target[];
}

/** CPU milliseconds per frame of a surface. */
export const frameMs = ({ frames, cpuMs }: Pick<Surface, 'frames' | 'cpuMs'>): number | undefined =>
  frames && cpuMs !== undefined ? cpuMs / frames : undefined;
