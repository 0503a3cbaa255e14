/** The grammar of a recogniser: JSGF 1.0 with the public rule <command>, made of the same trees as the text matcher. */
import { createHash } from 'node:crypto';
import type { SpeechGrammar } from '@device-core/plugin-api/services/speech';
import { all, any, type Node } from './tree.ts';

/** Undefined where nothing of it can be in a grammar. The order of the sentences does not matter to the contents. */
export function makeGrammar(language: string, sentences: readonly Node[]): SpeechGrammar | undefined {
  const writer = new Writer();
  const spoken = sentences.map(spokenOf).filter((node) => node !== undefined);
  const commands = [...new Set(spoken.map((node) => writer.text(node)))].sort();
  if (commands.length === 0) return undefined;
  const lines = [
    '#JSGF V1.0 UTF-8;',
    'grammar commands;',
    `public <command> = ${commands.join('\n  | ')};`,
    ...writer.rules.map(([text, name]) => `<${name}> = ${text};`).sort(),
  ];
  const jsgf = `${lines.join('\n')}\n`;
  return { id: hashOf(`${language}\0${jsgf}`, 32), language, jsgf, words: [...writer.words].sort() };
}

/** The part of a tree that can be spoken and listed: no digits, no open slot, and nothing that needs them. */
export function spokenOf(node: Node): Node | undefined {
  if (node.kind === 'word') return node.typed ? undefined : node;
  if (node.kind === 'slot') return node.slot.said && spokenOf(node.slot.said) && node;
  const parts = node.of.map(spokenOf);
  const there = parts.filter((part) => part !== undefined);
  if (node.kind === 'all') return there.length === parts.length ? all(...there) : undefined;
  return there.length === 0 ? undefined : any(...there);
}

class Writer {
  readonly words = new Set<string>();
  readonly #rules = new Map<string, string>();

  /** Slots of the same contents share a rule, whose name says the contents. */
  get rules(): readonly (readonly [text: string, name: string])[] {
    return [...this.#rules];
  }

  /** A text that can stand in a sequence; empty for nothing at all. */
  text(node: Node): string {
    switch (node.kind) {
      case 'word':
        this.words.add(node.word);
        return node.word;
      case 'slot':
        return this.#rule(spokenOf(node.slot.said!)!);
      case 'all':
        return node.of
          .map((part) => this.text(part))
          .filter((part) => part !== '')
          .join(' ');
      case 'any': {
        const branches = new Set(node.of.map((part) => this.text(part)));
        const empty = branches.delete('');
        const text = [...branches].join(' | ');
        if (empty) return text === '' ? '' : `[${text}]`;
        return branches.size === 1 ? text : `(${text})`;
      }
    }
  }

  #rule(said: Node): string {
    const text = this.text(said);
    if (!text.includes(' ')) return text;
    const name = this.#rules.get(text) ?? `slot_${hashOf(text, 12)}`;
    this.#rules.set(text, name);
    return `<${name}>`;
  }
}

function hashOf(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
