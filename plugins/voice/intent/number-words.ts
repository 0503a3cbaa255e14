import type { Node } from './tree.ts';

/** How a language says numbers. */
export interface NumberWords {
  /** Whole numbers of a range that is not negative, as a compact tree. */
  range(from: number, to: number): Node;
  /** Words that the trees of this table give, as a number. */
  read(words: readonly string[]): number | undefined;
  spell(value: number): string;
  readonly minus: string;
  /** The sign `%` in words. */
  readonly percent: string;
  readonly point: string;
  /** zero to nine */
  readonly digits: readonly string[];
  /** The largest that it can say. */
  readonly most: number;
}
