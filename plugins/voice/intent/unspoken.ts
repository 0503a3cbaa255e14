/**
 * Sentences that the speech engine of the device cannot hear, for it has no pronunciation of a word: they are matched
 * as text all the same.
 */
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Speech } from '@device-core/plugin-api/services/speech';
import type { Catalogue } from './catalogue.ts';
import { spokenOf } from './grammar.ts';
import type { Node } from './tree.ts';

export interface Unspoken {
  readonly intent: string;
  readonly owner: string;
  readonly words: readonly string[];
}

/** Words that a warning names. */
const MOST_NAMED = 8;

export class UnspokenSentences {
  readonly #catalogue: Catalogue;
  /** Absent: there is nothing that hears. */
  engines: Pick<Speech, 'unspeakable'> | undefined;

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue;
  }

  /** Asked anew each time: engines and apps come and go. */
  async list(): Promise<readonly Unspoken[]> {
    const { engines } = this;
    if (!engines) return [];
    const found: Unspoken[] = [];
    for (const language of this.#catalogue.languages) {
      const grammar = await this.#catalogue.grammar(language);
      if (!grammar) continue;
      const lost = new Set(await engines.unspeakable(grammar.words, language));
      if (lost.size === 0) continue;
      for (const { compiled, owner } of this.#catalogue.awake(language)) {
        const words = new Set(compiled.sentences.flatMap(({ node }) => wordsIn(spokenOf(node), lost)));
        if (words.size > 0) found.push({ intent: compiled.definition.id, owner, words: [...words].sort() });
      }
    }
    return found;
  }

  async tell(report: HealthReport): Promise<void> {
    const list = await this.list();
    const words = [...new Set(list.flatMap((one) => one.words))];
    if (words.length === 0) return;
    const named = words.slice(0, MOST_NAMED).map((word) => JSON.stringify(word.slice(0, 40)));
    const more = words.length > named.length ? ` and ${words.length - named.length} more words` : '';
    const where = [...new Set(list.map(({ intent }) => intent))].slice(0, MOST_NAMED).join(', ');
    report.warn(
      'WORDS_LEFT_OUT',
      `${named.join(', ')}${more}: the speech engine has no pronunciation, so the sentences of ${where} that need such a word are not heard`,
    );
  }
}

function wordsIn(node: Node | undefined, wanted: ReadonlySet<string>): readonly string[] {
  if (!node) return [];
  if (node.kind === 'word') return wanted.has(node.word) ? [node.word] : [];
  if (node.kind === 'slot') return wordsIn(node.slot.said && spokenOf(node.slot.said), wanted);
  return node.of.flatMap((part) => wordsIn(part, wanted));
}
