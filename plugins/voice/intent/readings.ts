/** Why a text means what it means: its nearest readings, how far apart they are, and the rule that bars each other one. */
import { maybe } from '@device-core/plugin-api';
import type { IntentMatch, SlotValue } from '@device-core/plugin-api/services/intents';
import type { Catalogue, Row } from './catalogue.ts';
import { plainer } from './forgiven.ts';
import { Looks, type Near, near } from './near.ts';
import { forgivenOf } from './texts.ts';
import type { Node } from './tree.ts';
import type { Unspoken } from './unspoken.ts';
import { baseLanguage } from './words.ts';

/** Rules by which a reading is not carried out. */
export const RULES = ['words', 'known-words', 'device-first', 'ambiguous', 'asleep'] as const;
export type Rule = (typeof RULES)[number];

export interface TriedReading {
  readonly intent: string;
  readonly title: string;
  readonly owner: string;
  /** The sentence as its author wrote it. */
  readonly sentence: string;
  readonly slots: Readonly<Record<string, SlotValue>>;
  /** Words by which the text differs from the sentence. */
  readonly distance: number;
  readonly changes: readonly string[];
  /** The text without its courtesy, where that was what fitted. */
  readonly readAs?: string;
  /** Words of its sentences that the speech engine has no pronunciation of. */
  readonly unspoken?: readonly string[];
  readonly refused?: { readonly rule: Rule; readonly reason: string };
}

export interface Tried {
  readonly outcome: IntentMatch['outcome'];
  readonly language: string;
  readonly readings: readonly TriedReading[];
  /** Words by which the nearest reading of another intent is further away; absent: none is near. */
  readonly margin?: number;
  /** Why nothing is carried out. */
  readonly reason?: string;
  /** There are more sentences than could be looked at. */
  readonly partial?: true;
}

const MOST_READINGS = 8;
const MOST_LOOKS = 60_000;
const REASONS: Readonly<Record<Rule, string>> = {
  words: 'only whole sentences count: the text differs from this one',
  'known-words': 'a sentence that knows more of the words goes before open slots',
  'device-first': 'sentences of the device and its plugins go before those of apps',
  ambiguous: 'two sentences fit equally well: the user is asked',
  asleep: 'its app is not running',
};

interface Candidate {
  readonly row: Row;
  readonly sentence: string;
  readonly found: Near;
  readonly readAs: string | undefined;
}

/** Words of each sentence, made at the first question. */
const WORDS = new WeakMap<Node, ReadonlySet<string>>();

export async function readingsOf(
  catalogue: Catalogue,
  text: string,
  { language, most = 2, unspoken }: TryOptions,
): Promise<Tried> {
  const base = baseLanguage(language);
  const match = await catalogue.match(text, { language });
  const words = catalogue.wordsOf(text, base);
  const reason = match.outcome === 'none' ? { reason: match.reason } : {};
  if (typeof words === 'string') return { outcome: match.outcome, language: base, readings: [], ...reason };
  const looks = new Looks(MOST_LOOKS);
  const candidates = nearest(catalogue.known(base), variants(words, base), looks);
  const meant = new Set(
    match.outcome === 'plan' ? [match.plan.intent] : match.outcome === 'ambiguous' ? match.candidates.map(idOf) : [],
  );
  const lost = new Map(unspoken.map((one) => [one.intent, one.words]));
  // The reading that is carried out comes first.
  const ranked = candidates.toSorted(
    (one, other) => Number(meant.has(rowId(other.row))) - Number(meant.has(rowId(one.row))),
  );
  const byDevice = candidates.some(({ row }) => meant.has(rowId(row)) && !ofApp(row));
  const readings = ranked.slice(0, Math.min(most, MOST_READINGS)).map((one): TriedReading => {
    const { row, sentence, found, readAs } = one;
    const { id, title } = row.compiled.definition;
    const rule = ruleOf(one, meant, match.outcome, byDevice);
    return {
      intent: id,
      title,
      owner: row.owner,
      sentence,
      slots: found.slots,
      distance: rounded(found.distance),
      changes: found.changes,
      ...maybe({ readAs, unspoken: lost.get(id), refused: rule && { rule, reason: REASONS[rule] } }),
    };
  });
  const [best] = ranked;
  const other = best && ranked.find(({ row }) => row !== best.row);
  return {
    outcome: match.outcome,
    language: base,
    readings,
    ...maybe({ margin: best && other && rounded(other.found.distance - best.found.distance) }),
    ...reason,
    ...maybe({ partial: looks.spent ? true : undefined }),
  };
}

export interface TryOptions {
  readonly language: string;
  readonly most?: number;
  readonly unspoken: readonly Unspoken[];
}

/** The nearest sentence of each intent, the nearest intent first. */
function nearest(rows: readonly Row[], texts: readonly Variant[], looks: Looks): readonly Candidate[] {
  const said = new Set(texts.flatMap(({ words }) => words));
  const likely = rows
    .flatMap((row) =>
      row.compiled.sentences.map((sentence) => ({ row, ...sentence, score: shared(sentence.node, said) })),
    )
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score);
  const best = new Map<Row, Candidate>();
  for (const { row, source, node } of likely) {
    for (const { words, readAs } of texts) {
      const found = near(node, words, looks);
      if (!found) continue;
      const known = best.get(row);
      if (!known || found.distance < known.found.distance) best.set(row, { row, sentence: source, found, readAs });
    }
  }
  return [...best.values()].sort((one, other) => one.found.distance - other.found.distance);
}

interface Variant {
  readonly words: readonly string[];
  readonly readAs: string | undefined;
}

/** The text as it is, and without its courtesy. */
function variants(words: readonly string[], language: string): readonly Variant[] {
  const forgiven = forgivenOf(language);
  const plain = forgiven ? plainer(words, forgiven) : words;
  const asIs = { words, readAs: undefined };
  const text = plain.join(' ');
  return text === words.join(' ') ? [asIs] : [asIs, { words: plain, readAs: text }];
}

function ruleOf(
  { row, found }: Candidate,
  meant: ReadonlySet<string>,
  outcome: string,
  byDevice: boolean,
): Rule | undefined {
  if (!row.awake) return 'asleep';
  if (found.distance > 0) return 'words';
  if (meant.has(rowId(row))) return outcome === 'ambiguous' ? 'ambiguous' : undefined;
  return ofApp(row) && byDevice ? 'device-first' : 'known-words';
}

/** Words of the text that the sentence knows. */
function shared(node: Node, said: ReadonlySet<string>): number {
  let words = WORDS.get(node);
  if (!words) {
    const all = new Set<string>();
    collect(node, all);
    WORDS.set(node, all);
    words = all;
  }
  let count = 0;
  for (const word of said) if (words.has(word)) count++;
  return count / Math.sqrt(Math.max(1, Math.min(words.size, 16)));
}

function collect(node: Node, words: Set<string>): void {
  if (node.kind === 'word') words.add(node.word);
  else if (node.kind === 'slot') {
    if (node.slot.said) collect(node.slot.said, words);
  } else for (const part of node.of) collect(part, words);
}

const ofApp = ({ owner }: Row): boolean => owner.startsWith('app.');
const rowId = ({ compiled }: Row): string => compiled.definition.id;
const idOf = ({ intent }: { readonly intent: string }): string => intent;
const rounded = (value: number): number => Math.round(100 * value) / 100;
