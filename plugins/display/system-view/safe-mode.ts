/** What kept the device from starting, as the log tells it, and how to switch it off. */
import { type Clock, CoreError, type Operations, type Scope } from '@device-core/plugin-api';
import type { Blame } from './pages.ts';

const CALLER = { kind: 'plugin', id: 'system-view' } as const;
const WAIT_MS = 180_000;

interface LastStart {
  readonly outcome: string;
  readonly suspects: readonly string[];
  readonly problems: readonly { readonly message?: string; readonly fields?: Readonly<Record<string, unknown>> }[];
}

export class SafeMode {
  readonly #operations: Operations;
  readonly #scope: Scope;
  #blame: Blame = { outcome: '' };

  constructor(operations: Operations, scope: Scope) {
    this.#operations = operations;
    this.#scope = scope;
  }

  get blame(): Blame {
    return this.#blame;
  }

  /** What is to be scanned, for whoever is asked for help. */
  get code(): string {
    const { plugin = '-', outcome, message = '' } = this.#blame;
    return `device-core safe mode; ${outcome || 'unknown'}; ${plugin}; ${message}`;
  }

  async read(): Promise<void> {
    const { lastStart } = (await this.#invoke('logs.lastStart', {})) as { readonly lastStart: LastStart | null };
    const message = lastStart?.problems.at(-1)?.message;
    const [plugin] = lastStart?.suspects ?? [];
    this.#blame = {
      outcome: lastStart?.outcome ?? '',
      ...(plugin !== undefined && { plugin }),
      ...(message !== undefined && { message }),
    };
  }

  /** Rejects with what plugins.switch rejects with. */
  async switchOff(): Promise<void> {
    const { plugin } = this.#blame;
    if (plugin === undefined) throw new CoreError('PLUGIN_NOT_FOUND', { plugin: 'to blame' });
    await this.#invoke('plugins.switch', { id: plugin, enabled: false });
    this.#blame = { ...this.#blame, done: true };
  }

  #invoke(name: string, params: object): Promise<unknown> {
    const clock: Clock = this.#scope.clock;
    return this.#operations.invoke(name, params, {
      caller: CALLER,
      signal: this.#scope.signal,
      deadline: clock.steady() + WAIT_MS,
    });
  }
}
