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

/** Uses of one plugin since then; milliseconds since the Unix epoch. */
export interface Past {
  readonly since: number;
  readonly uses: readonly PluginUse[];
}

interface Kept {
  readonly since: number;
  /** Begin of the run of the Core that `run` is of: a plugin-store that starts again counts nothing twice. */
  readonly began: number;
  readonly run: readonly PluginUse[];
  /** Runs before it. */
  readonly before: readonly PluginUse[];
}

type Book = Readonly<Record<string, Kept>>;

const FORM: KeptForm<Book> = {
  form: 1,
  initial: {},
  consequence: 'what guests used is known since the start of the Core alone',
  format: (plugins) => ({ plugins }),
  parse: ({ plugins }) => (isMap(plugins) && Object.values(plugins).every(isKept) ? (plugins as Book) : undefined),
};

function isKept(found: unknown): boolean {
  return isMap(found) && isCount(found.since) && isCount(found.began) && [found.run, found.before].every(isList);
}

function isList(found: unknown): boolean {
  if (!Array.isArray(found) || found.length > MOST) return false;
  return found.every((use) => {
    const { kind, name, count, last } = Object(use) as Partial<PluginUse>;
    return KINDS.includes(kind) && typeof name === 'string' && isCount(count) && isCount(last);
  });
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

export class UseHistory {
  readonly #file: KeptFile<Book>;
  readonly #manager: PluginManager;

  private constructor(file: KeptFile<Book>, manager: PluginManager) {
    this.#file = file;
    this.#manager = manager;
  }

  static async open(folder: string, manager: PluginManager, scope: Scope, log: Logger): Promise<UseHistory> {
    const file = await KeptFile.open(join(folder, 'uses.json'), FORM, scope, log);
    const history = new UseHistory(file, manager);
    const write = () => history.write().catch(() => undefined); // the file has logged it, and tries again
    scope.interval('uses of guests', WRITE_MS, write);
    scope.defer('uses of guests', write);
    return history;
  }

  /** Guests of now, each with all that is known of it. */
  async guests(): Promise<readonly (Omit<GuestUses, 'uses'> & Past)[]> {
    return (await this.#manager.uses()).map((guest) => {
      const { since, run, before } = this.#kept(guest);
      return { ...guest, since, uses: together([...before, ...run]) };
    });
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'plugin-store.uses');
  }

  /** Nothing is written where nothing new was used. Plugins that are gone are forgotten. */
  async write(): Promise<void> {
    const guests = await this.#manager.uses();
    const rows = guests.map((guest) => [guest.plugin, this.#kept(guest)] as const);
    const book = Object.fromEntries(rows.filter(([, { run, before }]) => run.length + before.length > 0));
    if (JSON.stringify(book) !== JSON.stringify(this.#file.value)) await this.#file.set(book);
  }

  #kept({ plugin, began, uses: run }: GuestUses): Kept {
    const { [plugin]: kept } = this.#file.value;
    if (!kept) return { since: began, began, run, before: [] };
    const before = kept.began === began ? kept.before : together([...kept.before, ...kept.run]);
    return { since: kept.since, began, run, before };
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
