/**
 * Which settings the lines have, over restarts of the plugin and of the Core. An endpoint that has not been reset keeps
 * its lines as they are, and giving one its settings again would set its level. It holds for one run of the machine:
 * after that the bridge was without power as well.
 */
import { readFile } from 'node:fs/promises';
import type { Logger, Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { GpioLineConfig } from '@device-core/plugin-api/services/gpio';
import type { HealthReport } from '@device-core/plugin-api/services/health';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

export type LineSettings = Omit<GpioLineConfig, 'initial'>;

interface Known {
  readonly boot: string;
  readonly settings: LineSettings;
}

interface Memory {
  /** A run of the machine. */
  readonly machine: string;
  /** By endpoint and line. */
  readonly lines: Readonly<Record<string, Known>>;
}

const FORM: KeptForm<Memory> = {
  form: 1,
  initial: { machine: '', lines: {} },
  consequence: 'after a restart of the Core outputs have their first level again',
  format: (memory) => memory,
  parse({ machine, lines }) {
    if (typeof machine !== 'string' || typeof lines !== 'object' || lines === null) return undefined;
    return { machine, lines: lines as Memory['lines'] };
  },
};

export class LineMemory {
  readonly #file: KeptFile<Memory>;
  readonly #machine: string;
  #lines: Readonly<Record<string, Known>>;

  private constructor(file: KeptFile<Memory>, machine: string | undefined) {
    this.#file = file;
    this.#machine = machine ?? '';
    this.#lines = machine !== undefined && file.value.machine === machine ? file.value.lines : {};
  }

  static async open(path: string, scope: Scope, log: Logger): Promise<LineMemory> {
    const machine = await readFile(BOOT_ID, 'utf8').catch(() => undefined); // another system: it begins anew with each start
    return new LineMemory(await KeptFile.open(path, FORM, scope, log), machine?.trim());
  }

  /** Settings of a line, where its endpoint got them in the same run of the endpoint. */
  recall(endpoint: string, line: number, boot: string): LineSettings | undefined {
    const known = this.#lines[`${endpoint}/${line}`];
    return known?.boot === boot ? known.settings : undefined;
  }

  keep(endpoint: string, boot: string, settings: LineSettings): void {
    this.#lines = { ...this.#lines, [`${endpoint}/${settings.line}`]: { boot, settings } };
    this.#file.set({ machine: this.#machine, lines: this.#lines }).catch(() => undefined); // told in the health
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'gpio.lines');
  }
}
