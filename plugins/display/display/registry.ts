/** Which renderers there are, in the order of the SKU, and which of them are put aside after a failure. */
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Renderer, Renderers } from '@device-core/plugin-api/services/renderer';

const ID = /^[a-z][a-z0-9-]{0,31}$/;
/** Milliseconds for which a renderer that failed is not asked: at first, and at most. It doubles. */
const LEAST_PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 60_000;
/** One that was well for so long begins with the least pause again. */
const WELL_MS = 60_000;

export interface RendererRow {
  readonly id: string;
  readonly renderer: Renderer;
  problem: string | undefined;
  streak: number;
  openedAt: number;
  pause: Disposable | undefined;
}

export class Registry implements Renderers {
  readonly #rows = new Map<string, RendererRow>();
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #order: readonly string[];
  /** One came, went, failed or may be asked again. */
  changed: () => void = () => undefined;

  constructor(scope: Scope, log: Logger, order: readonly string[]) {
    this.#scope = scope;
    this.#log = log;
    this.#order = order;
  }

  register(id: string, renderer: Renderer): AsyncDisposable {
    if (!ID.test(id)) throw invalid(`${JSON.stringify(id)} is no name of a renderer: ${ID.source}`);
    if (this.#rows.has(id)) throw invalid(`there is a renderer ${id} already`);
    const row: RendererRow = { id, renderer, problem: undefined, streak: 0, openedAt: 0, pause: undefined };
    this.#rows.set(id, row);
    this.changed();
    return {
      [Symbol.asyncDispose]: async () => {
        row.pause?.[Symbol.dispose]();
        if (this.#rows.get(id) !== row) return;
        this.#rows.delete(id);
        this.changed();
      },
    };
  }

  has(row: RendererRow): boolean {
    return this.#rows.get(row.id) === row;
  }

  /** Those that are there: in the order of the SKU, others after them. */
  get rows(): readonly RendererRow[] {
    const place = (id: string) => (this.#order.includes(id) ? this.#order.indexOf(id) : this.#order.length);
    return [...this.#rows.values()].sort((a, b) => place(a.id) - place(b.id) || (a.id < b.id ? -1 : 1));
  }

  /** The one to be asked. */
  best(): RendererRow | undefined {
    return this.rows.find(({ pause }) => pause === undefined);
  }

  failed(row: RendererRow, error: unknown): void {
    const { clock } = this.#scope;
    if (row.openedAt > 0 && clock.monotonic() - row.openedAt > WELL_MS) row.streak = 0;
    row.problem = reasonOf(error);
    const ms = Math.min(MOST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** row.streak);
    row.streak++;
    this.#log.warn({ renderer: row.id, reason: row.problem, pauseMs: ms }, `renderer ${row.id} failed: ${row.problem}`);
    row.pause?.[Symbol.dispose]();
    row.pause = undefined;
    if (!this.has(row)) return;
    row.pause = this.#scope.timeout(`pause of renderer ${row.id}`, ms, () => {
      row.pause = undefined;
      this.changed();
    });
  }

  opened(row: RendererRow): void {
    row.openedAt = this.#scope.clock.monotonic();
    row.problem = undefined;
  }
}

function invalid(reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where: 'id', reason });
}
