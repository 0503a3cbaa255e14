/** From the templates of a definition to the tree of what may be said. Every bound is here. */
import { maybe } from '@device-core/plugin-api';
import type { SlotType, SlotValue } from '@device-core/plugin-api/services/intents';
import type { NumberWords } from './number-words.ts';
import { numberSlot, numberWords, rangeFault, spellNumber } from './numbers.ts';
import { type InlineType, parseTemplate, type Template, TemplateError } from './template.ts';
import { all, any, endsOf, mayBeEmpty, type Node, type Slot, sizeOf, slotsOf, startsOpen, word } from './tree.ts';
import { baseLanguage, wordsOf } from './words.ts';

export const MAX_NODES = 4_096;
const MAX_VALUES = 1_000;
const MAX_VARIANTS = 64;
const MAX_RULE_DEPTH = 16;
const OPEN: Slot = { type: { kind: 'open' }, said: undefined, read: (words) => words.join(' '), digits: false };

export interface Sentence {
  readonly source: string;
  readonly node: Node;
}

export interface Context {
  readonly language: string;
  readonly slots: Readonly<Record<string, SlotType>>;
  readonly rules: Readonly<Record<string, string>>;
  /** The type of a slot whose range or list stands in the sentence; by default what it looks like. Throws TemplateError. */
  readonly inline?: (name: string, type: InlineType, at: number) => SlotType;
}

/** Throws TemplateError. */
export function buildSentence(source: string, context: Context): Sentence {
  const node = new Builder(context).build(parseTemplate(source), []);
  if (mayBeEmpty(node)) throw new TemplateError(1, 'it can be said without any word');
  if (startsOpen(node))
    throw new TemplateError(1, 'an open slot comes first: it would take the beginning of every sentence');
  const size = sizeOf(node, MAX_NODES);
  if (size > MAX_NODES)
    throw new TemplateError(1, `it has more than ${MAX_NODES} parts once its rules and orders are written out`);
  const { twice } = slotsOf(node);
  if (twice !== undefined) throw new TemplateError(1, `one sentence sets {${twice}} twice`);
  return { source, node };
}

class Builder {
  readonly #context: Context;
  readonly #words: NumberWords | undefined;
  /** Parts made so far: what rules and orders write out is bounded while it is made, not after. */
  #made = 0;

  constructor(context: Context) {
    this.#context = context;
    this.#words = numberWords(baseLanguage(context.language));
  }

  build(template: Template, within: readonly string[]): Node {
    if (++this.#made > MAX_NODES)
      throw new TemplateError(1, `it has more than ${MAX_NODES} parts once its rules and orders are written out`);
    switch (template.kind) {
      case 'text':
        return this.#said(template.text);
      case 'choice':
        return any(...template.of.map((part) => this.build(part, within)));
      case 'permutation':
        return any(...orders(template.of).map((order) => all(...order.map((part) => this.build(part, within)))));
      case 'sequence':
        return all(...compounds(template.of).map((parts) => this.#compound(parts, within)));
      case 'slot':
        return { kind: 'slot', name: template.name, slot: this.#slot(template) };
      case 'rule':
        return this.#rule(template, within);
    }
  }

  /** Items that touch: each variant is a text of its own. */
  #compound(parts: readonly Template[], within: readonly string[]): Node {
    if (parts.length === 1) return this.build(parts[0]!, within);
    const variants = expand({ kind: 'sequence', of: parts });
    return any(
      ...variants.map((variant) =>
        all(...variant.map((atom) => (typeof atom === 'string' ? this.#said(atom) : this.build(atom, within)))),
      ),
    );
  }

  #said(text: string): Node {
    return all(...wordsOf(text, this.#words?.percent, this.#words?.minus).map((each) => this.#word(each)));
  }

  /** Digits in a sentence are also said in words. */
  #word(each: string): Node {
    const value = Number(each);
    if (!/^\d/.test(each) || !Number.isFinite(value)) return word(each);
    const typed: Node = { kind: 'word', word: each, typed: true };
    return this.#words && value <= this.#words.most ? any(typed, spellNumber(value, this.#words)) : typed;
  }

  #rule({ name, at }: Extract<Template, { kind: 'rule' }>, within: readonly string[]): Node {
    const source = Object.hasOwn(this.#context.rules, name) ? this.#context.rules[name] : undefined;
    if (source === undefined) throw new TemplateError(at, `there is no rule <${name}>`);
    if (within.includes(name))
      throw new TemplateError(at, `rule <${name}> contains itself: ${[...within, name].join(' > ')}`);
    if (within.length >= MAX_RULE_DEPTH) throw new TemplateError(at, `rules are more than ${MAX_RULE_DEPTH} deep`);
    try {
      return this.build(parseTemplate(source), [...within, name]);
    } catch (thrown) {
      throw thrown instanceof TemplateError ? new TemplateError(at, `in rule <${name}>: ${thrown.message}`) : thrown;
    }
  }

  #slot({ name, list = name, inline, at }: Extract<Template, { kind: 'slot' }>): Slot {
    const { slots } = this.#context;
    if (inline) {
      const type = this.#context.inline?.(name, inline, at) ?? plainType(inline);
      return this.#typed(name, type, at);
    }
    const type = Object.hasOwn(slots, list) ? slots[list] : undefined;
    if (!type) throw new TemplateError(at, `there is no slot ${list}`);
    return this.#typed(list, type, at);
  }

  #typed(name: string, type: SlotType, at: number): Slot {
    if (type.kind === 'open') return OPEN;
    if (type.kind === 'list') return this.#list(name, type, at);
    const fault = rangeFault(type, this.#words);
    if (fault) throw new TemplateError(at, `{${name}}: ${fault}`);
    return numberSlot(type, this.#words);
  }

  #list(name: string, type: Extract<SlotType, { kind: 'list' }>, at: number): Slot {
    const { values } = type;
    if (values.length === 0 || values.length > MAX_VALUES)
      throw new TemplateError(at, `{${name}}: it has ${values.length} values, 1 to ${MAX_VALUES} are allowed`);
    const outs = new Map<string, SlotValue>();
    const spelled: { readonly node: Node; readonly out: SlotValue }[] = [];
    const said = values.map((value) => {
      const words = wordsOf(value.in);
      const key = words.join(' ');
      if (key === '') throw new TemplateError(at, `{${name}}: value "${value.in.slice(0, 40)}" has no words`);
      if (outs.has(key) && outs.get(key) !== value.out)
        throw new TemplateError(at, `{${name}}: "${key}" has two values`);
      outs.set(key, value.out);
      const node = this.#said(value.in);
      if (words.some((each) => /^\d/.test(each))) spelled.push({ node, out: value.out });
      return node;
    });
    // The digits of a value may have come in words.
    const read = (words: readonly string[]) =>
      outs.get(words.join(' ')) ?? spelled.find(({ node }) => endsOf(node, words, 0).has(words.length))?.out;
    return { type, said: any(...said), read, digits: false };
  }
}

function plainType(type: InlineType): SlotType {
  if (type.kind === 'values') return { kind: 'list', values: type.values };
  const { from, to, step } = type;
  const whole = [from, to, step ?? 1].every(Number.isInteger);
  return { kind: whole ? 'int' : 'number', from, to, ...maybe({ step }) };
}

/** Neighbours that touch, together: no space between a text and a group, or between two groups. */
function compounds(items: readonly Template[]): readonly (readonly Template[])[] {
  const runs: Template[][] = [];
  for (const item of items) {
    const before = runs.at(-1)?.at(-1);
    if (before && touches(before, item)) runs.at(-1)!.push(item);
    else runs.push([item]);
  }
  return runs;
}

function touches(before: Template, after: Template): boolean {
  if ([before, after].some(({ kind }) => kind === 'slot' || kind === 'rule')) return false;
  if (before.kind === 'text' && /\s$/.test(before.text)) return false;
  return !(after.kind === 'text' && /^\s/.test(after.text));
}

type Atom = string | Extract<Template, { kind: 'slot' | 'rule' }>;

/** All that a template may be, texts that touch joined. Throws TemplateError. */
function expand(template: Template): readonly (readonly Atom[])[] {
  switch (template.kind) {
    case 'text':
      return [[template.text]];
    case 'slot':
    case 'rule':
      return [[template]];
    case 'choice':
      return bounded(template.of.flatMap(expand));
    case 'permutation':
      return bounded(
        orders(template.of).flatMap((order) =>
          expand({ kind: 'sequence', of: order.flatMap((part) => [part, { kind: 'text', text: ' ' }]) }),
        ),
      );
    case 'sequence': {
      let variants: readonly (readonly Atom[])[] = [[]];
      for (const part of template.of) {
        const next = expand(part);
        variants = bounded(variants.flatMap((one) => next.map((other) => joined(one, other))));
      }
      return variants;
    }
  }
}

function bounded<T>(variants: readonly T[]): readonly T[] {
  if (variants.length > MAX_VARIANTS)
    throw new TemplateError(
      1,
      `a word with groups that touch it has more than ${MAX_VARIANTS} forms: put spaces between words`,
    );
  return variants;
}

function joined(one: readonly Atom[], other: readonly Atom[]): readonly Atom[] {
  const [last, first] = [one.at(-1), other[0]];
  if (typeof last !== 'string' || typeof first !== 'string') return [...one, ...other];
  return [...one.slice(0, -1), last + first, ...other.slice(1)];
}

function orders<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((first, index) => orders(items.toSpliced(index, 1)).map((rest) => [first, ...rest]));
}
