import type { HookCaller } from '@device-core/plugin-api';

/** A tap that logs is called again for its own line; what it says deeper than that is withheld. */
const DEEPEST = 2;

/** Puts each finished line through hook log.line before it is written. A line is never lost here, and nothing throws. */
export class LineScan {
  #hook: HookCaller<'log.line'> | undefined;
  #depth = 0;

  /** From now on; lines before had the other layers of redaction alone. */
  use(hook: HookCaller<'log.line'>): void {
    this.#hook = hook;
  }

  /** A line with its end. Of one that cannot be looked at it says so, and none of its text: it might hold what was to be hidden. */
  readonly through = (line: string): string => {
    if (!this.#hook?.isUsed()) return line;
    if (this.#depth === DEEPEST) return withheld(line, 'a tap of log.line writes lines itself');
    this.#depth++;
    try {
      const scanned: unknown = this.#hook.call(line.slice(0, -1));
      return typeof scanned === 'string' ? `${scanned}\n` : withheld(line, 'a tap of log.line answered with no text');
    } catch {
      return withheld(line, 'hook log.line failed');
    } finally {
      this.#depth--;
    }
  };
}

function withheld(line: string, why: string): string {
  const { level, time, plugin } = JSON.parse(line);
  return `${JSON.stringify({ level, time, plugin, msg: `a line is withheld: ${why}` })}\n`;
}
