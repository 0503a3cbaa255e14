/** Applies the SKU, and remembers what came of it. */
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import type { PluginManager, SkuChange } from '@device-core/plugin-api/inside/services/plugin-manager';

interface Problem {
  readonly file: string;
  readonly line: number;
  readonly code: string;
  readonly message: string;
}

export interface Refusal {
  readonly code: string;
  /** Starts with `file:line` where a line is to blame. */
  readonly message: string;
}

export class Composer {
  /** Why the file as it is now does not rule. */
  refusal: Refusal | undefined;
  /** Description of the last change. */
  last: string | undefined;
  readonly #manager: PluginManager;
  readonly #log: Logger;

  constructor(manager: PluginManager, log: Logger) {
    this.#manager = manager;
    this.#log = log;
  }

  /** Not to be waited for in a release: the change may stop the plugin that asked for it. */
  async apply(): Promise<void> {
    try {
      const change = await this.#manager.apply();
      if (this.refusal) this.#log.info({}, 'the SKU file is right again, and in force');
      this.refusal = undefined;
      if (change.affected.length > 0 || change.device) this.last = described(change);
      if (change.stale.length > 0)
        this.#log.warn({ plugins: change.stale }, 'their new version is taken at the next start of the Core');
    } catch (thrown) {
      this.refusal = refusalOf(thrown);
      this.last = undefined;
      const { code, message: reason } = this.refusal;
      this.#log.error({ code, reason }, 'the change of the SKU was refused, what ran before runs on');
    }
  }
}

function described({ added, removed, changed, affected }: SkuChange): string {
  const parts = [
    ['added', added],
    ['removed', removed],
    ['changed', changed],
  ] as const;
  const told = parts.filter(([, ids]) => ids.length > 0).map(([what, ids]) => `${what} ${ids.join(', ')}`);
  return `last change: ${told.join('; ') || 'of the device itself'}; ${affected.length} plugins restarted`;
}

function refusalOf(thrown: unknown): Refusal {
  if (!(thrown instanceof CoreError)) return { code: 'INTERNAL', message: reasonOf(thrown) };
  const { code, message, details } = thrown;
  const problems = (details.problems ?? []) as readonly (Problem & { readonly stops?: string })[];
  const fatal = problems.filter(({ stops }) => stops === 'core');
  const lines = fatal.map((one) => `${one.file}:${one.line}: ${one.message}`);
  return { code, message: lines.length > 0 ? lines.join('; ') : message };
}
