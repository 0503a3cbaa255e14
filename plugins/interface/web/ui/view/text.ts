import { catalogue, said, stringOf, type Words } from '../core/text.ts';
import { fill } from './template.ts';

export const text = catalogue('view');

/** Texts of one view: a key of its room of strings, or the text itself, with members of `scope` in braces. */
export type Say = (words: Words, scope?: unknown) => string;

/** The template behind a text. A plugin from outside has no room. */
export const templateOf = (room: string | undefined, words: Words): string =>
  (room !== undefined && typeof words === 'string' && stringOf(room, words)) || said(words);

export const sayIn =
  (room: string | undefined): Say =>
  (words, scope = {}) => {
    const template = templateOf(room, words);
    return fill(template, scope, room) ?? template;
  };
