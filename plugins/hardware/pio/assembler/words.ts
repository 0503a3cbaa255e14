/** Source text of a PIO program as lines of words. Notation: RP2040 data sheet, section 3.3. */
import { CoreError } from '@device-core/plugin-api';

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  readonly words: readonly string[];
}

const WORD = /\s*(0x[0-9a-f]+|0b[01]+|[0-9]+|\.?[a-z_][a-z0-9_]*|--|!=|::|<<|>>|[-+*/|&^~!()[\],:])/iy;

/** Throws PARAMS_INVALID that names the line. */
export function fault(number: number, reason: string): never {
  throw new CoreError('PARAMS_INVALID', { where: `source, line ${number}`, reason });
}

/**
 * Lines with words. Comments go, and so do blocks for compilers of other languages (`% c-sdk {` to `%}`). Throws
 * PARAMS_INVALID where such a block has no end.
 */
export function linesOf(source: string): readonly Line[] {
  const lines: Line[] = [];
  let open: { readonly end: string; readonly number: number } | undefined;
  source.split(/\r?\n/).forEach((text, index) => {
    const number = index + 1;
    let bare = '';
    let rest = text;
    while (rest !== '') {
      if (open) {
        const at = rest.indexOf(open.end);
        rest = at < 0 ? '' : rest.slice(at + open.end.length);
        if (at >= 0) open = undefined;
        continue;
      }
      const found = /\/\*|\/\/|;|%/.exec(rest);
      const at = found?.index ?? rest.length;
      bare += `${rest.slice(0, at)} `;
      if (found?.[0] === '/*') open = { end: '*/', number };
      if (found?.[0] === '%') open = { end: '%}', number };
      rest = open ? rest.slice(at + found![0].length) : '';
    }
    const words = wordsOf(bare.trimEnd(), number);
    if (words.length > 0) lines.push({ number, words });
  });
  if (open) fault(open.number, `"${open.end}" is missing behind it`);
  return lines;
}

function wordsOf(text: string, number: number): readonly string[] {
  const words: string[] = [];
  for (let at = 0; at < text.length; at = WORD.lastIndex) {
    WORD.lastIndex = at;
    const found = WORD.exec(text);
    if (!found) fault(number, `"${text.slice(at).trim().slice(0, 20)}" is no word of the notation`);
    words.push(found[1]!);
  }
  return words;
}
