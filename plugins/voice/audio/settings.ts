/** Volume and mute, which outlive the Core. */

import type { Logger, Scope } from '@device-core/plugin-api';
import { KeptFile } from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';

export interface Kept {
  readonly volume: number;
  readonly muted: boolean;
}

export class KeptSettings {
  readonly #file: KeptFile<Kept>;

  private constructor(file: KeptFile<Kept>) {
    this.#file = file;
  }

  /** A file that cannot be read is set aside and told; its last good copy or the defaults hold. */
  static async open(path: string, defaults: Kept, scope: Scope, log: Logger): Promise<KeptSettings> {
    const form = {
      form: 1,
      initial: defaults,
      consequence: 'volume and mute hold until the Core ends',
      format: (value: Kept) => value,
      parse({ volume, muted }: Record<string, unknown>): Kept | undefined {
        const good = typeof volume === 'number' && volume >= 0 && volume <= 1 && typeof muted === 'boolean';
        return good ? { volume, muted } : undefined;
      },
    };
    return new KeptSettings(await KeptFile.open(path, form, scope, log));
  }

  get value(): Kept {
    return this.#file.value;
  }

  /**
   * In force at once; resolves when it is durable, or known not to be: then the health tells, and it is written as soon
   * as the disk takes it.
   */
  set(change: Partial<Kept>): Promise<void> {
    return this.#file.set({ ...this.value, ...change }).catch(() => undefined); // nobody is to stay unmuted for a full disk
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'audio.kept');
  }
}
