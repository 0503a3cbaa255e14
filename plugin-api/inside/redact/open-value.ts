/** The end of a value, looked for in the lines that follow its first one: before this line, with it, or behind it. */
export type LineEnd = (line: string) => 'before' | 'with' | 'behind';

/** A value that has more lines than the text that it begins in. */
export interface OpenValue {
  /** A place in its first line. */
  readonly at: number;
  readonly ends: LineEnd;
}

/** A block ends before the first line that does not stand deeper than its name. Items of a list may stand as deep as the name. */
export function blockEnd(indent: number): LineEnd {
  return (line) => {
    const space = line.length - line.trimStart().length;
    if (space === line.length) return 'behind';
    return space > indent || (space === indent && /^-(?:\s|$)/.test(line.slice(space, space + 2)))
      ? 'behind'
      : 'before';
  };
}
