import type { HealthReport } from '@device-core/plugin-api/services/health';

const MAX_NOTES = 16;

/** Reports about the files to the operator: faults that last until the file is mended, and notes of repairs. */
export class Problems {
  readonly #faults = new Map<string, { readonly code: string; readonly message: string; readonly since: number }>();
  readonly #notes: string[] = [];
  readonly #newer = new Set<string>();

  /** True if this fault is new. */
  fault(file: string, code: string, message: string): boolean {
    if (this.#faults.get(file)?.message === message) return false;
    this.#faults.set(file, { code, message, since: Date.now() });
    return true;
  }

  mended(file: string): void {
    this.#faults.delete(file);
  }

  /** A repair, reported until the plugin stops; only the newest 16 are kept. */
  note(message: string): void {
    this.#notes.push(message);
    if (this.#notes.length > MAX_NOTES) this.#notes.shift();
  }

  /** A file that a newer Core wrote: reported as long as the plugin runs. */
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
