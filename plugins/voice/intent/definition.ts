/** One definition, checked and compiled: its sentences as a tree, and the matcher made of it. */
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import type { IntentDefinition } from '@device-core/plugin-api/services/intents';
import { Automaton, TooLarge } from './automaton.ts';
import { buildSentence, type Context, type Sentence } from './build.ts';
import { numberWords } from './numbers.ts';
import { NAME, TemplateError } from './template.ts';
import { type Node, slotsOf } from './tree.ts';
import { baseLanguage } from './words.ts';

export interface Compiled {
  readonly definition: IntentDefinition;
  readonly language: string;
  readonly sentences: readonly Sentence[];
  readonly automaton: Automaton;
  /** For "what can I say". */
  readonly example: string;
}

const ID = /^[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)+$/;
const LANGUAGE = /^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*$/;
const MAX_ID = 256;
const MAX_TITLE = 200;
const MAX_SENTENCES = 64;
const MAX_TABLE = 64;

/** Throws PARAMS_INVALID, which names the sentence, the place and the reason. */
export function compileDefinition(definition: IntentDefinition, inline?: Context['inline']): Compiled {
  const { id, title, sentences, slots = {}, rules = {} } = definition;
  const language = baseLanguage(definition.language);
  const check = (ok: boolean, where: string, reason: string) => {
    if (!ok)
      throw new CoreError('PARAMS_INVALID', {
        where: `intent ${String(id).slice(0, 80)}`,
        reason: `${where} ${reason}`,
      });
  };
  check(typeof id === 'string' && id.length <= MAX_ID && ID.test(id), 'its id', `must match ${ID.source}`);
  check(
    typeof title === 'string' && title.length <= MAX_TITLE,
    'its title',
    `must have at most ${MAX_TITLE} characters`,
  );
  check(LANGUAGE.test(definition.language), 'its language', 'must be a BCP 47 tag like en');
  check(sentences.length > 0 && sentences.length <= MAX_SENTENCES, 'its sentences', `must be 1 to ${MAX_SENTENCES}`);
  for (const [what, table] of Object.entries({ slots, rules })) {
    check(Object.keys(table).length <= MAX_TABLE, `its ${what}`, `must be at most ${MAX_TABLE}`);
    for (const name of Object.keys(table))
      check(NAME.test(name), `its ${what}`, `have "${name.slice(0, 80)}", which is not a name`);
  }
  const context: Context = { language, slots, rules, ...maybe({ inline }) };
  const built = sentences.map((source, index) => {
    try {
      return buildSentence(source, context);
    } catch (thrown) {
      if (!(thrown instanceof TemplateError)) throw thrown;
      const reason = `sentence ${index + 1} "${source.slice(0, 80)}" ${thrown.message}`;
      throw new CoreError('PARAMS_INVALID', { where: `intent ${id}`, reason });
    }
  });
  const nodes = built.map(({ node }) => node);
  return {
    definition,
    language,
    sentences: built,
    automaton: automatonOf(nodes, id),
    example: exampleOf(nodes[0]!, language),
  };
}

/** Slots that every sentence of a definition sets, those that some do. */
export function usesOf(
  compiled: Compiled,
): readonly { readonly source: string; readonly always: ReadonlySet<string>; readonly ever: ReadonlySet<string> }[] {
  return compiled.sentences.map(({ source, node }) => ({ source, ...slotsOf(node) }));
}

function automatonOf(nodes: readonly Node[], id: string): Automaton {
  try {
    return new Automaton(nodes);
  } catch (thrown) {
    if (!(thrown instanceof TooLarge)) throw thrown;
    throw new CoreError('PARAMS_INVALID', { where: `intent ${id}`, reason: reasonOf(thrown) });
  }
}

/** One way to say it, with what is optional. */
function exampleOf(node: Node, language: string): string {
  if (node.kind === 'word') return node.word;
  if (node.kind === 'any') return node.of[0] ? exampleOf(node.of[0], language) : '';
  if (node.kind === 'slot') {
    const { type } = node.slot;
    if (type.kind === 'open') return '...';
    if (type.kind === 'list') return type.values[0]?.in ?? '';
    const value = Math.min(Math.max(10, type.from), type.to);
    return numberWords(language)?.spell(value) ?? String(value);
  }
  return node.of
    .map((part) => exampleOf(part, language))
    .filter((part) => part !== '')
    .join(' ');
}
