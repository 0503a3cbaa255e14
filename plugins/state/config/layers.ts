/** Layers of the configuration, as the code that lays them over each other sees them. */
import type { ConfigLayer } from '@device-core/plugin-api/services/config';
import { isBelow } from './keys.ts';
import type { Lock } from './locks.ts';
import type { Held } from './state-file.ts';

export interface Layer {
  get(key: string): Held | undefined;
  keys(): Iterable<string>;
}

export interface Placed {
  readonly layer: Layer;
  readonly source: ConfigLayer;
  /** Source of a built-in default: the app itself, or a description of the key for all. */
  readonly builtIn?: 'app' | 'shared';
}

export interface LayerValue extends Held {
  readonly source: ConfigLayer | 'builtin';
  /** The Core can change it alone. */
  readonly writable: boolean;
  /** Reason why the value is not used. */
  readonly misfit?: string;
}

export interface Layered {
  readonly layers: readonly LayerValue[];
  /** Index of the layer in force; -1 if there is none. */
  readonly winner: number;
  readonly lock?: Lock;
}

export function rank(source: ConfigLayer): number {
  return source === 'app' ? 2 : source === 'device' ? 1 : 0;
}

export function asLayer(values: ReadonlyMap<string, unknown>): Layer {
  return {
    keys: () => values.keys(),
    get: (key) => (values.has(key) ? { value: values.get(key), revision: 0 } : undefined),
  };
}

export const below = (layer: Layer, prefix: string): readonly string[] =>
  [...layer.keys()].filter((key) => isBelow(key, prefix));
