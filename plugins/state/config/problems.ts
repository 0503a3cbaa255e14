import type { HealthReport } from '@device-core/plugin-api/services/health';

const MAX_NOTES = 16;

/** What an operator must know of the files: faults that last until the file is mended, and notes of what was repaired. */
export class Problems {
  readonly #faults = new Map<string, { readonly code: string; readonly message: string; readonly since: number }>();
  readonly #notes: string[] = [];
  readonly #newer = new Set<string>();

  /** True where this fault is news. */
  fault(file: string, code: string, message: string): boolean {
    if (this.#faults.get(file)?.message === message) return false;
    this.#faults.set(file, { code, message, since: Date.now() });
    return true;
  }

  mended(file: string): void {
    this.#faults.delete(file);
  }

  /** Something that was set right, told until the plugin stops; only the newest 16 are kept. */
  note(message: string): void {
    this.#notes.push(message);
    if (this.#notes.length > MAX_NOTES) this.#notes.shift();
  }

  /** A file that a newer Core wrote: told as long as the plugin runs. */
  newer(message: string): void {
    if (this.#newer.size < MAX_NOTES) this.#newer.add(message);
  }

  tell(report: HealthReport): void {
    const [first] = this.#faults.values();
    if (first) {
      const message = [...this.#faults.values()].map((fault) => fault.message).join('; ');
      report.add('config', { status: 'error', code: first.code, message, since: first.since });
    } else {
      report.add('config', { status: 'okay' });
    }
    for (const message of this.#newer) report.warn('STATE_NEWER', message);
    for (const note of this.#notes) report.warn('CONFIG_REPAIRED', note);
  }
}
