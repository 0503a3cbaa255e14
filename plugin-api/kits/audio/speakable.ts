/** A grammar without the sentences that an engine cannot hear: recognisers refuse a whole grammar for one word without a pronunciation. */
import { CoreError } from '../../contract/errors.ts';
import type { SpeechGrammar } from '../../services/speech.ts';

type Part =
  | { readonly kind: 'word' | 'rule'; readonly text: string }
  | { readonly kind: 'all' | 'any' | 'optional'; readonly of: readonly Part[] }
  /** `*` and `+`. */
  | { readonly kind: 'repeat'; readonly sign: string; readonly of: Part };

interface Rule {
  readonly name: string;
  readonly public: boolean;
  readonly body: Part;
}

const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
const HEADER = /^\uFEFF?\s*#JSGF[^;\n]*;?[^\n]*\n\s*grammar[^;]*;/i;
/** Tags and weights carry no words. */
const TOKEN = /\{[^{}]*\}|\/[\d.eE+-]+\/|"(?:[^"\\]|\\.)*"|<[^<>]+>|[=;|()[\]*+]|[^\s=;|()[\]{}<>"*+]+/g;
const MOST_DEPTH = 64;

/**
 * Drops each alternative that needs a word for which `isSpeakable` is false, and each rule of which nothing is left.
 * The same grammar where every word is speakable. Throws PARAMS_INVALID: no sentence is left, or the text is no JSGF.
 */
export function speakablePart(grammar: SpeechGrammar, isSpeakable: (word: string) => boolean): SpeechGrammar {
  const lost = new Set(grammar.words.filter((word) => !isSpeakable(word)));
  if (lost.size === 0) return grammar;
  const text = grammar.jsgf.replaceAll(COMMENT, ' ');
  let rules = new Reader(text.replace(HEADER, '')).rules();
  // A rule that nothing is left of takes along what needs it, which may be a rule again.
  for (let before = -1; before !== rules.length; ) {
    before = rules.length;
    const kept = rules.flatMap((rule) => {
      const body = without(rule.body, lost);
      return body ? [{ ...rule, body }] : [];
    });
    for (const { name } of rules) if (!kept.some((rule) => rule.name === name)) lost.add(name);
    rules = kept;
  }
  if (!rules.some(({ name }) => name === '<command>'))
    throw refused(`no sentence is left without ${[...lost].filter((word) => !word.startsWith('<')).join(', ')}`);
  const lines = rules.map((rule) => `${rule.public ? 'public ' : ''}${rule.name} = ${written(rule.body)};`);
  return {
    ...grammar,
    jsgf: `${HEADER.exec(text)?.[0] ?? '#JSGF V1.0 UTF-8;\ngrammar commands;'}\n${lines.join('\n')}\n`,
    words: grammar.words.filter((word) => !lost.has(word)),
  };
}

function without(part: Part, lost: ReadonlySet<string>): Part | undefined {
  switch (part.kind) {
    case 'word':
    case 'rule':
      return lost.has(part.text) ? undefined : part;
    case 'repeat': {
      const of = only(without(part.of, lost));
      if (of) return { ...part, of };
      return part.sign === '*' ? { kind: 'all', of: [] } : undefined;
    }
    case 'all': {
      const of = part.of.map((one) => without(one, lost));
      return of.every((one) => one !== undefined) ? { kind: 'all', of } : undefined;
    }
    case 'any':
    case 'optional': {
      const of = part.of.flatMap((one) => without(one, lost) ?? []);
      if (of.length > 0) return { ...part, of };
      return part.kind === 'optional' ? { kind: 'all', of: [] } : undefined;
    }
  }
}

/** A group of one part is that part. */
function only(part: Part | undefined): Part | undefined {
  return part?.kind === 'any' && part.of.length === 1 ? only(part.of[0]) : part;
}

function written(part: Part): string {
  switch (part.kind) {
    case 'word':
    case 'rule':
      return part.text;
    case 'repeat':
      return part.of.kind === 'all' ? `(${written(part.of)})${part.sign}` : `${written(part.of)}${part.sign}`;
    case 'all':
      return part.of.length === 0 ? '<NULL>' : part.of.map(written).join(' ');
    case 'any':
      return part.of.length === 1 ? written(part.of[0]!) : `(${part.of.map(written).join(' | ')})`;
    case 'optional':
      return `[${part.of.map(written).join(' | ')}]`;
  }
}

class Reader {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = (text.match(TOKEN) ?? []).filter((token) => !/^(\{|\/[\d.])/.test(token));
  }

  rules(): readonly Rule[] {
    const rules: Rule[] = [];
    while (this.#at < this.#tokens.length) {
      const isPublic = this.#next() === 'public';
      if (!isPublic) this.#at--;
      const name = this.#next();
      if (name === 'import') throw refused('it imports rules of another grammar');
      if (!name?.startsWith('<') || this.#next() !== '=')
        throw refused(`a rule was expected before ${name ?? 'its end'}`);
      rules.push({ name, public: isPublic, body: this.#choice(';', 0) });
    }
    return rules;
  }

  /** Up to `close`, which is read, too. */
  #choice(close: string, depth: number): Part {
    if (depth > MOST_DEPTH) throw refused(`groups are more than ${MOST_DEPTH} deep`);
    const branches: Part[] = [];
    let items: Part[] = [];
    const branch = () => {
      branches.push(items.length === 1 ? items[0]! : { kind: 'all', of: items });
      items = [];
    };
    for (let token = this.#next(); token !== close; token = this.#next()) {
      if (token === undefined) throw refused(`"${close}" was expected at its end`);
      if (token === '|') branch();
      else if (token === '*' || token === '+') {
        const of = items.pop();
        if (!of) throw refused(`"${token}" has nothing before it`);
        items.push({ kind: 'repeat', sign: token, of });
      } else items.push(this.#item(token, depth));
    }
    branch();
    return branches.length === 1 && close === ';'
      ? branches[0]!
      : { kind: close === ']' ? 'optional' : 'any', of: branches };
  }

  #item(token: string, depth: number): Part {
    if (token === '(') return this.#choice(')', depth + 1);
    if (token === '[') return this.#choice(']', depth + 1);
    if (token.startsWith('<')) return { kind: 'rule', text: token };
    if (/^[=;)\]]$/.test(token)) throw refused(`"${token}" stands in the wrong place`);
    return { kind: 'word', text: token };
  }

  #next(): string | undefined {
    return this.#tokens[this.#at++];
  }
}

function refused(reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where: 'grammar', reason });
}
