/** Edges on their way to who listens: each listener by the handle, in order, with what was lost before. */

import type { Logger } from '@device-core/plugin-api';
import type { HandleRow, HandleTable } from '@device-core/plugin-api/buses';
import { Listeners } from '@device-core/plugin-api/operation-kit';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import type { GpioEdge, GpioHandle } from '@device-core/plugin-api/services/gpio';
import { EDGE_EVENT } from './messages.ts';

export interface EdgeCounts {
  edges: number;
  lostEdges: number;
}

export class Edges {
  readonly #table: HandleTable<GpioHandle>;
  readonly #listeners: Listeners<GpioEdge>;
  readonly #counts = new WeakMap<HandleRow<GpioHandle>, EdgeCounts>();

  constructor(table: HandleTable<GpioHandle>, log: Logger) {
    this.#table = table;
    this.#listeners = new Listeners(log);
  }

  countsOf(row: HandleRow<GpioHandle>): EdgeCounts {
    const counts = this.#counts.get(row) ?? { edges: 0, lostEdges: 0 };
    this.#counts.set(row, counts);
    return counts;
  }

  /** Hears of the edges of a handle, whether it is registered or will be; of all of them by the name `*`. */
  add(handle: string, listener: (edge: GpioEdge) => void): Disposable {
    return this.#listeners.add(handle, listener);
  }

  take(endpoint: string, { op, at, atUs, timestampUs, lost, data }: EndpointEvent): void {
    const [line, level] = data;
    if (op !== EDGE_EVENT || line === undefined || level === undefined) return;
    const rows = this.#table.on(endpoint);
    // The bridge does not name the lines of dropped edges: any line with edges may have lost some.
    if (lost > 0)
      for (const row of rows) if ((row.handle.edge ?? 'none') !== 'none') this.countsOf(row).lostEdges += lost;
    for (const row of rows) {
      if (row.handle.line !== line) continue;
      this.countsOf(row).edges++;
      const edge: GpioEdge = { handle: row.handle.name, level: level ? 1 : 0, at, atUs, timestampUs, lost };
      for (const name of [row.handle.name, '*']) this.#listeners.tell(name, edge);
    }
  }
}
