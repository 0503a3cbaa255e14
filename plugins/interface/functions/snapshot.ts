/**
 * Registrations live as long as the Core, not as long as this plugin: they are kept below `<run>`, marked with the
 * start of the Core, so that apps need not register again when only the plugin restarts.
 */
import { join } from 'node:path';
import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { readState, replaceFile, sweepLeftovers } from '@device-core/plugin-api/durable';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { FunctionSpecification } from '@device-core/plugin-api/services/functions';

const SAVE_AFTER_MS = 100;

export class Snapshot {
  readonly #path: string;
  readonly #startedAt: number;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #take: () => readonly FunctionSpecification[];
  #timer: Disposable | undefined;
  /** The write under way: who comes after reads what it wrote. */
  #saved: Promise<void> = Promise.resolve();

  constructor(device: DeviceInfo, scope: Scope, log: Logger, take: () => readonly FunctionSpecification[]) {
    this.#path = join(device.paths.run, 'functions.json');
    this.#startedAt = device.startedAt;
    this.#scope = scope;
    this.#log = log;
    this.#take = take;
    scope.defer('snapshot of the functions', () => (this.#timer ? this.#save() : this.#saved));
  }

  /** Snapshot of the former run of the plugin in this run of the Core. */
  async read(): Promise<readonly FunctionSpecification[]> {
    try {
      await sweepLeftovers(this.#path);
      const text = await readState(this.#path);
      if (text === undefined) return [];
      const { startedAt, specifications } = JSON.parse(text);
      return startedAt === this.#startedAt ? specifications : [];
    } catch (error) {
      this.#log.warn({ file: this.#path }, `cannot read the snapshot of the functions: ${reasonOf(error)}`);
      return [];
    }
  }

  /** Something changed; changes within 100 ms are written together. */
  touch(): void {
    this.#timer ??= this.#scope.timeout('save the functions', SAVE_AFTER_MS, () => this.#save());
  }

  #save(): Promise<void> {
    this.#timer = undefined;
    this.#saved = this.#saved.then(() => this.#write());
    return this.#saved;
  }

  async #write(): Promise<void> {
    try {
      const text = JSON.stringify({ startedAt: this.#startedAt, specifications: this.#take() });
      await replaceFile(this.#path, text, { sync: false });
    } catch (error) {
      this.#log.warn({ file: this.#path }, `cannot keep the functions: ${reasonOf(error)}`);
    }
  }
}
