import { HIDDEN } from './redact/forms.ts';
import type { LineEnd } from './redact/open-value.ts';
import { hasWord, hideText, openText, redactText } from './redact/text.ts';

/** Lines and characters of a value behind its first line. A value without an end must not take the rest of a log with it. */
const MOST_LINES = 64;
const MOST_SIZE = 16 << 10;
/** Open values of one text that are looked for: the time stays in proportion to its length. */
const MOST_LOOKS = 16;

/**
 * Redaction of a text that comes in parts: reads of a pipe, entries of a journal. A key in PEM, a block of YAML and a
 * quote that begin in one part are hidden in those that follow, up to their end or 64 lines or 16 KiB. Each part
 * consists of whole lines.
 */
export class StreamRedaction {
  #ends: LineEnd | undefined;
  #lines = 0;
  #size = 0;

  text(part: string): string {
    let hidden = '';
    let rest = part;
    for (let look = 0; rest !== ''; look++) {
      if (this.#ends) {
        const to = this.#hiddenUntil(rest, this.#ends);
        hidden += rest.slice(0, to).replace(/[^\r\n]+/g, HIDDEN);
        rest = rest.slice(to);
      }
      const named = hasWord(rest);
      const open = look < MOST_LOOKS ? openText(rest, named) : undefined;
      if (!open) return hidden + hideText(rest, named);
      const first = lineEnd(rest, open.at);
      const [end = ''] = /\r?\n$/.exec(rest.slice(Math.max(0, first - 2), first)) ?? [];
      hidden += redactText(rest.slice(0, first - end.length)) + end;
      rest = rest.slice(first);
      [this.#ends, this.#lines, this.#size] = [open.ends, 0, 0];
    }
    return hidden;
  }

  /** The end of the open value in this text. */
  #hiddenUntil(text: string, ends: LineEnd): number {
    for (let at = 0; at < text.length; ) {
      const end = lineEnd(text, at);
      const where = ends(text.slice(at, end).replace(/\r?\n$/, ''));
      const most = at + MOST_SIZE - this.#size;
      this.#size += end - at;
      if (where !== 'behind' || ++this.#lines >= MOST_LINES || most <= end) {
        this.#ends = undefined;
        return where === 'before' ? at : Math.min(end, most);
      }
      at = end;
    }
    return text.length;
  }
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end + 1;
}
