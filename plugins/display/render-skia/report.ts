/** Costs of frames, by surface. */
import type { RendererReport } from '@device-core/plugin-api/services/renderer';

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

  /** Milliseconds since the last report. */
  since(now: number): number {
    return now - this.#from;
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

  take(now: number, missingGlyphs: readonly string[]): RendererReport {
    const ms = Number.isFinite(this.#from) ? now - this.#from : 0;
    const surfaces = [...this.#surfaces].map(([surface, row]) => ({ surface, ...row }));
    const report = { frames: this.#frames, cpuMs: this.#cpuMs, pixels: this.#pixels, surfaces, ms, missingGlyphs };
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
