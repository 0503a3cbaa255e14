/** Fault that kept the device from starting, from the boot loader and the log, and the way to switch its plugin off. */
import { type Clock, CoreError, maybe, type Scope } from '@device-core/plugin-api';
import type { Operations } from '@device-core/plugin-api/services/operations';
import type { Blame } from './pages.ts';

const CALLER = { kind: 'plugin', id: 'system-view' } as const;
const WAIT_MS = 180_000;

interface LastStart {
  readonly outcome: string;
  readonly suspects: readonly string[];
  readonly problems: readonly { readonly message?: string; readonly fields?: Readonly<Record<string, unknown>> }[];
}

interface Health {
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
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

  /** Text of the code that a helper scans. */
  get code(): string {
    const { plugin = '-', outcome, message = '', cause } = this.#blame;
    const more = cause === undefined ? '' : `; ${cause}`;
    return `device-core safe mode; ${outcome || 'unknown'}; ${plugin}; ${message}${more}`;
  }

  async read(): Promise<void> {
    const [{ lastStart }, cause] = await Promise.all([
      this.#invoke('logs.lastStart', {}) as Promise<{ readonly lastStart: LastStart | null }>,
      this.#cause(),
    ]);
    const message = lastStart?.problems.at(-1)?.message;
    const [plugin] = lastStart?.suspects ?? [];
    this.#blame = {
      outcome: lastStart?.outcome ?? '',
      ...maybe({ plugin, message, cause }),
    };
  }

  /** Rejects with what plugins.switch rejects with. */
  async switchOff(): Promise<void> {
    const { plugin } = this.#blame;
    if (plugin === undefined) throw new CoreError('PLUGIN_NOT_FOUND', { plugin: 'to blame' });
    await this.#invoke('plugins.switch', { id: plugin, enabled: false });
    this.#blame = { ...this.#blame, done: true };
  }

  /** Reason from the boot loader; undefined without one, or before it is known. */
  async #cause(): Promise<string | undefined> {
    const { warnings = [] } = (await this.#invoke('system.health', {}).catch(() => ({}))) as Health;
    return warnings.find(({ code }) => code === 'BOOT_SAFE_MODE')?.message.replace(/^safe mode: /, '');
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
