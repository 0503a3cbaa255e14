/** Costs of frames, by surface. */
import type { Clock } from '@device-core/plugin-api';
import type { RendererReport } from '@device-core/plugin-api/services/renderer';

const REPORT_MS = 1_000;

/** Milliseconds of a processor that this thread has used. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

export class Costs {
  #surfaces = new Map<string, { frames: number; cpuMs: number }>();
  #frames = 0;
  #cpuMs = 0;
  #pixels = 0;
  #from = Number.NEGATIVE_INFINITY;

  readonly #clock: Clock;
  readonly #tell: (costs: Omit<RendererReport, 'missingGlyphs'>) => void;
  #later: Disposable | undefined;

  constructor(clock: Clock, tell: (costs: Omit<RendererReport, 'missingGlyphs'>) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  /** Tells with the frame where the last report is long ago; else a second after it. */
  report(): void {
    if (this.#later !== undefined) return;
    const left = this.#clock.monotonic() - this.#from - REPORT_MS;
    if (left >= 0) this.#tell(this.#take());
    else
      this.#later = this.#clock.after(-left, () => {
        this.#later = undefined;
        this.#tell(this.#take());
      });
  }

  close(): void {
    this.#later?.[Symbol.dispose]();
  }

  /** A surface was looked at. */
  surface(id: string, ms: number): void {
    this.#of(id).cpuMs += ms;
  }

  /** A frame of `ms` milliseconds in all, `paintMs` of them for painting; `shares` are pixels of the surfaces that changed. */
  frame(ms: number, paintMs: number, pixels: number, shares: ReadonlyMap<string, number>): void {
    this.#frames += 1;
    this.#cpuMs += ms;
    this.#pixels += pixels;
    const all = [...shares.values()].reduce((sum, share) => sum + share, 0);
    for (const [id, share] of shares) {
      const row = this.#of(id);
      row.frames += 1;
      if (all > 0) row.cpuMs += (paintMs * share) / all;
    }
  }

  #take(): Omit<RendererReport, 'missingGlyphs'> {
    const now = this.#clock.monotonic();
    const ms = Number.isFinite(this.#from) ? now - this.#from : 0;
    const surfaces = [...this.#surfaces].map(([surface, row]) => ({ surface, ...row }));
    const report = { frames: this.#frames, cpuMs: this.#cpuMs, pixels: this.#pixels, surfaces, ms };
    this.#surfaces = new Map();
    this.#frames = 0;
    this.#cpuMs = 0;
    this.#pixels = 0;
    this.#from = now;
    return report;
  }

  #of(id: string): { frames: number; cpuMs: number } {
    let row = this.#surfaces.get(id);
    if (row === undefined) {
      row = { frames: 0, cpuMs: 0 };
      this.#surfaces.set(id, row);
    }
    return row;
  }
}
