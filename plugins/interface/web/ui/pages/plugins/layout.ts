/** Positions of the plugins in the drawing: a provider stands left of its dependents. Pure. */
import type { Plugin } from '../../parts/shapes.ts';

type Node = Pick<Plugin, 'id' | 'provides' | 'requires'>;

export interface Place {
  readonly id: string;
  readonly x: number;
  readonly y: number;
}

export interface Edge {
  /** Id of the provider. */
  readonly from: string;
  /** Id of the dependent. */
  readonly to: string;
  readonly services: readonly string[];
}

export interface Drawing {
  readonly places: readonly Place[];
  readonly edges: readonly Edge[];
  readonly width: number;
  readonly height: number;
}

export const BOX = { width: 148, height: 28 };
const STEP = { x: 206, y: 38 };
const EDGE = 12;
/** A column that is longer is broken in two. */
const MOST_ROWS = 16;

export function edgesOf(plugins: readonly Node[]): readonly Edge[] {
  const giver = new Map(plugins.flatMap(({ id, provides = {} }) => Object.keys(provides).map((name) => [name, id])));
  return plugins.flatMap(({ id, requires = {} }) => {
    const by = new Map<string, string[]>();
    for (const service of Object.keys(requires)) {
      const from = giver.get(service);
      if (from !== undefined && from !== id) by.set(from, [...(by.get(from) ?? []), service]);
    }
    return [...by].map(([from, services]) => ({ from, to: id, services }));
  });
}

export function layout(plugins: readonly Node[]): Drawing {
  const edges = edgesOf(plugins);
  const needs = new Map(plugins.map(({ id }) => [id, edges.filter(({ to }) => to === id).map(({ from }) => from)]));
  const depth = new Map<string, number>();
  const visit = (id: string, path: ReadonlySet<string>): number => {
    const known = depth.get(id);
    if (known !== undefined) return known;
    // The Core refuses circles; a list that is half told may look like one.
    const before = (needs.get(id) ?? []).filter((one) => !path.has(one));
    const deep = Math.max(-1, ...before.map((one) => visit(one, new Set([...path, id])))) + 1;
    depth.set(id, deep);
    return deep;
  };
  const columns: string[][] = [];
  for (const { id } of plugins) {
    const deep = visit(id, new Set());
    columns[deep] = [...(columns[deep] ?? []), id];
  }
  const places: Place[] = [];
  const rank = new Map<string, number>();
  let at = 0;
  for (const column of columns) {
    const mean = (id: string) => {
      const ranks = (needs.get(id) ?? []).map((one) => rank.get(one) ?? 0);
      return ranks.length === 0 ? 0 : ranks.reduce((sum, one) => sum + one, 0) / ranks.length;
    };
    const sorted = (column ?? []).toSorted((a, b) => mean(a) - mean(b) || (a < b ? -1 : 1));
    for (let first = 0; first < sorted.length; first += MOST_ROWS, at++)
      for (const [row, id] of sorted.slice(first, first + MOST_ROWS).entries()) {
        rank.set(id, row);
        places.push({ id, x: EDGE + at * STEP.x, y: EDGE + row * STEP.y });
      }
  }
  const rows = Math.max(1, ...places.map(({ y }) => y + BOX.height));
  return { places, edges, width: Math.max(BOX.width, (at - 1) * STEP.x + BOX.width) + 2 * EDGE, height: rows + EDGE };
}
