/**
 * Sentence templates in hassil's syntax: `[optional]`, `(a|b)`, `(a;b)` in any order, `{slot}`, `{list:slot}`,
 * `<rule>`, `a|b` without a group, `\` before a character that means itself. What stands in braces after a colon may also be a range or a
 * list: `{minutes:1..120}`, `{level:0..1/0.05}`, `{day:today|tomorrow}`, `{size:small=1|large=2}`. Text that touches a
 * group without a space belongs to the same word: `light[s]`.
 */

export type Template =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'sequence'; readonly of: readonly Template[] }
  | { readonly kind: 'choice'; readonly of: readonly Template[] }
  /** All of them, in any order. */
  | { readonly kind: 'permutation'; readonly of: readonly Template[] }
  | {
      readonly kind: 'slot';
      readonly name: string;
      readonly list?: string;
      readonly inline?: InlineType;
      readonly at: number;
    }
  | { readonly kind: 'rule'; readonly name: string; readonly at: number };

export type InlineType =
  | { readonly kind: 'range'; readonly from: number; readonly to: number; readonly step?: number }
  | { readonly kind: 'values'; readonly values: readonly { readonly in: string; readonly out: string }[] };

export const MAX_TEMPLATE = 1_000;
export const MAX_DEPTH = 16;
const MAX_PERMUTED = 5;
const MAX_VALUES = 64;
/** Names of slots, lists and rules, in any script: `<område>`. */
export const NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_-]{0,63}$/u;
const NUMBER = String.raw`-?\d{1,9}(?:\.\d{1,6})?`;
const RANGE = new RegExp(`^(${NUMBER})\\.\\.(${NUMBER})(?:/(${NUMBER}))?$`);
const CLOSING: Readonly<Record<string, string>> = { '[': ']', '(': ')', '{': '}', '<': '>' };

/** Fault of a template with its place: positions count characters from 1. */
export class TemplateError extends Error {
  readonly at: number;

  constructor(at: number, reason: string) {
    super(`at ${at}: ${reason}`);
    this.name = 'TemplateError';
    this.at = at;
  }
}

/** Throws TemplateError. */
export function parseTemplate(source: string): Template {
  if (source.length > MAX_TEMPLATE)
    throw new TemplateError(
      MAX_TEMPLATE + 1,
      `it has ${source.length} characters, at most ${MAX_TEMPLATE} are allowed`,
    );
  const parser = new Parser(source);
  const template = parser.group(undefined, 0);
  return template;
}

class Parser {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  /** Up to `close`, or to the end without one. */
  group(open: { readonly char: string; readonly at: number } | undefined, depth: number): Template {
    if (depth > MAX_DEPTH) throw new TemplateError(this.#at, `groups are more than ${MAX_DEPTH} deep`);
    const close = open && CLOSING[open.char];
    const branches: Template[] = [];
    let items: Template[] = [];
    let separator: string | undefined;
    const branch = () => {
      branches.push(items.length === 1 ? items[0]! : { kind: 'sequence', of: items });
      items = [];
    };
    for (;;) {
      const char = this.#source[this.#at];
      if (char === undefined) {
        if (open) throw this.#error(`expected "${close}" for the "${open.char}" at ${open.at}, found the end`);
        break;
      }
      if (char === close) break;
      if (']})>'.includes(char)) throw this.#error(`expected ${close ? `"${close}"` : 'a word'}, found "${char}"`);
      if (char === '|' || char === ';') {
        if (!open && char === ';') throw this.#error('";" stands only within ( )');
        if (separator !== undefined && separator !== char)
          throw this.#error(`expected "${separator}", found "${char}": one group has one of them`);
        if (char === ';' && open?.char === '[') throw this.#error('";" stands only within ( )');
        separator = char;
        branch();
        this.#at++;
      } else items.push(this.#item(char, depth));
    }
    branch();
    if (separator === ';') return this.#permutation(branches, open!);
    const [only] = branches;
    if (branches.length === 1 && open?.char !== '[') return only!;
    const empty: Template = { kind: 'sequence', of: [] };
    return { kind: 'choice', of: open?.char === '[' ? [...branches, empty] : branches };
  }

  #permutation(of: readonly Template[], { at }: { readonly at: number }): Template {
    if (of.length > MAX_PERMUTED)
      throw new TemplateError(at, `${of.length} parts in any order, at most ${MAX_PERMUTED} are allowed`);
    return { kind: 'permutation', of };
  }

  #item(char: string, depth: number): Template {
    const at = this.#at + 1;
    if (char === '(' || char === '[') {
      this.#at++;
      const group = this.group({ char, at }, depth + 1);
      this.#at++;
      // A group is an item of its own, even where it holds only text: what touches it is then seen.
      return group.kind === 'text' ? { kind: 'sequence', of: [group] } : group;
    }
    if (char === '{') return readSlot(this.#enclosed('{', at), at);
    if (char === '<') {
      const name = this.#enclosed('<', at).trim();
      if (!NAME.test(name))
        throw new TemplateError(at + 1, `expected the name of a rule, found "${name.slice(0, 40)}"`);
      return { kind: 'rule', name, at };
    }
    return { kind: 'text', text: this.#text() };
  }

  /** Text between `{` and `}` or `<` and `>`. */
  #enclosed(open: string, at: number): string {
    const close = CLOSING[open]!;
    const end = this.#source.indexOf(close, this.#at);
    const inside = this.#source.slice(this.#at + 1, end < 0 ? undefined : end);
    const other = inside.search(/[{}<>[\]()]/);
    if (other >= 0)
      throw new TemplateError(
        at + 1 + other,
        `expected "${close}" for the "${open}" at ${at}, found "${inside[other]}"`,
      );
    if (end < 0) {
      this.#at = this.#source.length;
      throw this.#error(`expected "${close}" for the "${open}" at ${at}, found the end`);
    }
    this.#at = end + 1;
    return inside;
  }

  #text(): string {
    let text = '';
    for (;;) {
      const char = this.#source[this.#at];
      if (char === undefined || '[](){}<>|;'.includes(char)) return text;
      if (char === '\\') {
        this.#at++;
        const escaped = this.#source[this.#at];
        if (escaped === undefined) throw this.#error('expected a character after "\\", found the end');
        text += escaped;
      } else text += char;
      this.#at++;
    }
  }

  #error(reason: string): TemplateError {
    return new TemplateError(this.#at + 1, reason);
  }
}

function readSlot(inside: string, at: number): Template {
  const colon = inside.indexOf(':');
  const name = (colon < 0 ? inside : inside.slice(0, colon)).trim();
  if (!NAME.test(name)) throw new TemplateError(at + 1, `expected the name of a slot, found "${name.slice(0, 40)}"`);
  if (colon < 0) return { kind: 'slot', name, at };
  const rest = inside.slice(colon + 1).trim();
  const restAt = at + colon + 2;
  if (/[|=]/.test(rest)) return { kind: 'slot', name, inline: readValues(rest, restAt), at };
  if (rest.includes('..')) return { kind: 'slot', name, inline: readRange(rest, restAt), at };
  if (!NAME.test(rest))
    throw new TemplateError(
      restAt,
      `expected a range like 1..60, a list like a|b or the name of a slot, found "${rest.slice(0, 40)}"`,
    );
  return { kind: 'slot', name: rest, list: name, at };
}

function readRange(text: string, at: number): InlineType {
  const [, from, to, step] = RANGE.exec(text) ?? [];
  if (from === undefined || to === undefined)
    throw new TemplateError(at, `expected a range like 1..60 or 0..1/0.1, found "${text.slice(0, 40)}"`);
  return { kind: 'range', from: Number(from), to: Number(to), ...(step !== undefined && { step: Number(step) }) };
}

function readValues(text: string, at: number): InlineType {
  const values = text.split('|').map((value) => {
    const equals = value.indexOf('=');
    const said = (equals < 0 ? value : value.slice(0, equals)).trim();
    const out = equals < 0 ? said : value.slice(equals + 1).trim();
    if (said === '') throw new TemplateError(at, 'a value of the list has no words');
    return { in: said, out };
  });
  if (values.length > MAX_VALUES)
    throw new TemplateError(at, `${values.length} values, at most ${MAX_VALUES} are allowed`);
  return { kind: 'values', values };
}
