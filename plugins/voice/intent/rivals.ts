/** Sentences that a text may be mistaken for by ear: with another value of a slot, or of another intent. */
import type { IntentMatch, IntentPlan } from '@device-core/plugin-api/services/intents';
import type { Rival } from '@device-core/plugin-api/services/speech';
import type { Catalogue, Row } from './catalogue.ts';
import { Looks, near, unlike } from './near.ts';
import { numberWords } from './numbers.ts';
import type { Node, Slot } from './tree.ts';
import { baseLanguage, wordsOf } from './words.ts';

/** Place of the words of a slot. */
interface Span {
  readonly slot: Slot;
  readonly from: number;
  readonly to: number;
}

const MOST_LOOKS = 20_000;
/** Values of one slot, and sentences of other intents, that sound most like what was said. */
const MOST_VALUES = 12;
const MOST_OTHERS = 6;
/** Values of a range that are spelled out to be compared. */
const MOST_SPELLED = 512;
/** Words by which a sentence of another intent differs at most. */
const NEAR = 2;

/** None where the text has no meaning of its own. */
export async function rivalsOf(catalogue: Catalogue, text: string, language: string): Promise<readonly Rival[]> {
  const base = baseLanguage(language);
  const match = await catalogue.match(text, { language });
  const words = catalogue.wordsOf(text, base);
  if (match.outcome !== 'plan' || typeof words === 'string') return [];
  const { plan } = match;
  const looks = new Looks(MOST_LOOKS);
  const row = catalogue.rowOf(plan.intent);
  const values = new Set(row ? otherValues(row, words, base, looks) : []);
  const texts = [...new Set([...values, ...otherIntents(catalogue, plan, words, looks)])];
  const differ = await Promise.all(texts.map((one) => differs(catalogue, one, plan, language)));
  return texts.filter((_, index) => differ[index]).map((one) => ({ text: one, byValue: values.has(one) }));
}

/** Two meanings of the same words are for the person to choose between, too. */
async function differs(catalogue: Catalogue, text: string, plan: IntentPlan, language: string): Promise<boolean> {
  const match: IntentMatch = await catalogue.match(text, { language });
  return match.outcome === 'plan' && !sameMeaning(match.plan, plan);
}

function sameMeaning(one: IntentPlan, other: IntentPlan): boolean {
  const slots = ({ slots }: IntentPlan) => JSON.stringify(Object.entries(slots).sort());
  return one.intent === other.intent && slots(one) === slots(other);
}

function otherValues({ compiled }: Row, words: readonly string[], language: string, looks: Looks): readonly string[] {
  for (const { node } of compiled.sentences) {
    const spans = spansOf(node, words, 0, looks).find(({ at }) => at === words.length)?.spans;
    if (spans)
      return spans.flatMap(({ slot, from, to }) => {
        const said = words.slice(from, to).join(' ');
        const alike = valuesOf(slot, language)
          .map((value) => [unlike(said, value), value] as const)
          .filter(([by]) => by > 0)
          .sort(([one], [other]) => one - other);
        return alike
          .slice(0, MOST_VALUES)
          .map(([, value]) => [...words.slice(0, from), value, ...words.slice(to)].join(' '));
      });
  }
  return [];
}

function valuesOf({ type }: Slot, language: string): readonly string[] {
  if (type.kind === 'list') return type.values.map((value) => wordsOf(value.in).join(' '));
  const numbers = numberWords(language);
  if (type.kind === 'open' || !numbers) return [];
  const { from, to, step = 1 } = type;
  const count = Math.min(MOST_SPELLED, Math.floor((to - from) / step + 1e-6) + 1);
  return Array.from({ length: count }, (_, index) => numbers.spell(Math.round((from + index * step) * 1e6) / 1e6));
}

interface Parse {
  readonly at: number;
  readonly spans: readonly Span[];
}

/** Ways through a tree, one for each place at which it can end. */
function spansOf(node: Node, words: readonly string[], at: number, looks: Looks): readonly Parse[] {
  if (!looks.take()) return [];
  if (node.kind === 'word') return words[at] === node.word ? [{ at: at + 1, spans: [] }] : [];
  if (node.kind === 'any') return byPlace(node.of.flatMap((part) => spansOf(part, words, at, looks)));
  if (node.kind === 'all') {
    let ways: readonly Parse[] = [{ at, spans: [] }];
    for (const part of node.of) {
      const longer = ways.flatMap((way) =>
        spansOf(part, words, way.at, looks).map((more) => ({ at: more.at, spans: [...way.spans, ...more.spans] })),
      );
      ways = byPlace(longer);
    }
    return ways;
  }
  const { slot } = node;
  const ends = Array.from({ length: words.length - at }, (_, index) => at + index + 1);
  return ends
    .filter((end) => looks.take() && slot.read(words.slice(at, end)) !== undefined)
    .map((end) => ({ at: end, spans: [{ slot, from: at, to: end }] }));
}

function byPlace(parses: readonly Parse[]): readonly Parse[] {
  return [...new Map(parses.toReversed().map((one) => [one.at, one])).values()];
}

function otherIntents(
  catalogue: Catalogue,
  plan: IntentPlan,
  words: readonly string[],
  looks: Looks,
): readonly string[] {
  const language = catalogue.rowOf(plan.intent)?.compiled.language ?? '';
  return catalogue
    .awake(language)
    .filter(({ compiled }) => compiled.definition.id !== plan.intent)
    .flatMap(({ compiled }) => compiled.sentences.map(({ node }) => near(node, words, looks)))
    .filter((found) => found?.said !== undefined && found.distance <= NEAR)
    .sort((one, other) => one!.distance - other!.distance)
    .slice(0, MOST_OTHERS)
    .map((found) => found!.said!.join(' '));
}
