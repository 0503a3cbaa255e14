/** Uses of guests over restarts: what the kernel counted in this run, on top of what a file kept of the runs before. */
import { join } from 'node:path';
import type { Logger, Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import { isMap } from '@device-core/plugin-api/inside/installed';
import type { GuestUses, PluginManager, PluginUse } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { HealthReport } from '@device-core/plugin-api/services/health';

/** A crash loses the uses of so long at most. */
const WRITE_MS = 600_000;
/** Rows of one plugin that a file may hold: those of the kernel. */
const MOST = 257;
const KINDS: readonly unknown[] = ['service', 'capability', 'hook', 'other'];

/** Uses of one plugin, since then; milliseconds since the Unix epoch. */
export interface Past {
  readonly since: number;
  readonly uses: readonly PluginUse[];
}

type Book = Readonly<Record<string, Past>>;

const FORM: KeptForm<Book> = {
  form: 1,
  initial: {},
  consequence: 'what guests used is known since the start of the Core alone',
  format: (plugins) => ({ plugins }),
  parse: ({ plugins }) => (isMap(plugins) && Object.values(plugins).every(isPast) ? (plugins as Book) : undefined),
};

function isPast(found: unknown): boolean {
  if (!isMap(found) || !isCount(found.since) || !Array.isArray(found.uses) || found.uses.length > MOST) return false;
  return found.uses.every((use) => {
    const { kind, name, count, last } = Object(use) as Partial<PluginUse>;
    return KINDS.includes(kind) && typeof name === 'string' && isCount(count) && isCount(last);
  });
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

export class UseHistory {
  readonly #file: KeptFile<Book>;
  /** Runs before this one. */
  readonly #before: Book;
  readonly #manager: PluginManager;
  readonly #began: number;

  private constructor(file: KeptFile<Book>, manager: PluginManager, began: number) {
    this.#file = file;
    this.#before = file.value;
    this.#manager = manager;
    this.#began = began;
  }

  static async open(
    folder: string,
    manager: PluginManager,
    { scope, log, began }: { readonly scope: Scope; readonly log: Logger; readonly began: number },
  ): Promise<UseHistory> {
    const file = await KeptFile.open(join(folder, 'uses.json'), FORM, scope, log);
    const history = new UseHistory(file, manager, began);
    const write = () => history.write().catch(() => undefined); // the file has logged it, and tries again
    scope.interval('uses of guests', WRITE_MS, write);
    scope.defer('uses of guests', write);
    return history;
  }

  /** Guests of now, each with all that is known of it. */
  async guests(): Promise<readonly (Omit<GuestUses, 'uses'> & Past)[]> {
    return (await this.#manager.uses()).map((guest) => {
      const { since, uses }: Past = this.#before[guest.plugin] ?? { since: this.#began, uses: [] };
      return { ...guest, since, uses: together([...uses, ...guest.uses]) };
    });
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'plugin-store.uses');
  }

  /** Nothing is written where no guest used anything. Plugins that are gone are forgotten. */
  async write(): Promise<void> {
    const used = (await this.guests()).filter(({ uses }) => uses.length > 0);
    const book = Object.fromEntries(used.map(({ plugin, since, uses }) => [plugin, { since, uses }]));
    if (JSON.stringify(book) !== JSON.stringify(this.#file.value)) await this.#file.set(book);
  }
}

/** One row for each right: the sum, and the last time. */
function together(uses: readonly PluginUse[]): readonly PluginUse[] {
  const rows = new Map<string, PluginUse>();
  for (const use of uses) {
    const key = `${use.kind} ${use.name}`;
    const { count = 0, last = 0 } = rows.get(key) ?? {};
    rows.set(key, { ...use, count: count + use.count, last: Math.max(last, use.last) });
  }
  return [...rows.values()].slice(0, MOST);
}
