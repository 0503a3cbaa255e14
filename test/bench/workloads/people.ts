/** Orders to a coffee machine that people spoke, their grammar, and how right what was heard of them is. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rival, SpeechGrammar } from '@device-core/plugin-api/services/speech';
import { grammarOf } from '../../fixtures/commands.ts';
import { pcmOf } from '../../fixtures/speech.ts';

type Slots = Readonly<Record<string, readonly string[]>>;

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = [process.env.DEVICE_CORE_SPEECH, join(ROOT, '../shared/speech'), join(ROOT, '../../shared/speech')]
  .map((folder) => folder && join(folder, 'commands'))
  .find((folder) => folder && existsSync(folder));

export interface Order {
  readonly name: string;
  readonly samples: Int16Array;
  /** Value by slot. */
  readonly meant: Readonly<Record<string, string>>;
}

export interface Orders {
  readonly slots: Slots;
  readonly orders: readonly Order[];
}

/** The half that nothing was fitted to: names that begin with 2 or 3. Undefined where there are no recordings. */
export function ordersOfPeople(most: number): Orders | undefined {
  if (!FOLDER) return undefined;
  const read = (name: string) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
  const meant = read('labels.json') as Record<string, Order['meant']>;
  const names = readdirSync(FOLDER).filter((name) => /^[23].*\.wav$/.test(name));
  const orders = names
    .sort()
    .slice(0, most)
    .map((name) => ({ name, meant: meant[name]!, samples: pcmOf(readFileSync(join(FOLDER, name))) }));
  return { slots: read('slots.json') as Slots, orders };
}

/** `without`: a value that it does not know. */
export function coffee(slots: Slots, without?: readonly [slot: string, value: string]): SpeechGrammar {
  const of = (slot: string) =>
    slots[slot]!.filter((value) => slot !== without?.[0] || value !== without[1])
      .map((value) => `(${value})`)
      .join(' | ');
  return grammarOf(
    `coffee ${without?.join(' ') ?? ''}`,
    'public <command> = <begin> [a | an] [<parts>] <drink> [with <with>];',
    "<begin> = brew [me] | can i get | can i have | i want | get me | give me | i'd like | make me | may i have;",
    '<parts> = <s> [<r>] [<n>] | <s> <n> <r> | <r> [<s>] [<n>] | <r> <n> <s> | <n> [<s>] [<r>] | <n> <r> <s>;',
    `<s> = ${of('size')};`,
    `<r> = ${of('roast')};`,
    `<n> = ${of('numberOfShots')};`,
    `<drink> = ${of('coffeeDrink')};`,
    '<with> = <milk> | <sugar> | <milk> and <sugar> | <sugar> and <milk>;',
    `<milk> = ${of('milkAmount')};`,
    `<sugar> = ${of('sugarAmount')};`,
  );
}

/** Orders with another value of one slot, as the intents give them. `without`: a value that the grammar does not know. */
export function rivalsOf(
  text: string,
  slots: Slots,
  without?: readonly [slot: string, value: string],
): readonly Rival[] {
  const words = ` ${text} `;
  const rivals = Object.entries(slots).flatMap(([slot, values]) => {
    const fitting = values.filter((value) => placeOf(words, slot, value) >= 0);
    const said = fitting.toSorted((one, other) => other.length - one.length)[0];
    if (said === undefined) return [];
    const at = placeOf(words, slot, said);
    return values
      .filter((value) => value !== said && (slot !== without?.[0] || value !== without[1]))
      .map((value) => `${words.slice(0, at)}${value}${words.slice(at + said.length)}`.trim());
  });
  return [...new Set(rivals)].map((rival) => ({ text: rival, byValue: true }));
}

/** Milk and sugar come after "with"; the size is no roast. */
function placeOf(words: string, slot: string, value: string): number {
  const searched = slot === 'size' ? words.replace('medium roast', 'medium_roast') : words;
  const end = searched.indexOf(' with ');
  const late = slot === 'milkAmount' || slot === 'sugarAmount';
  if (late && end < 0) return -1;
  const at = searched.indexOf(` ${value} `, late ? end : 0) + 1;
  return at === 0 || (!late && end >= 0 && at > end) ? -1 : at;
}

export function isRight(text: string, { meant }: Order, slots: Slots): boolean {
  const [head = '', tail = ''] = text.split(' with ');
  const parts: Record<string, string> = { milkAmount: tail, sugarAmount: tail, size: head.replace('medium roast', '') };
  return Object.entries(slots).every(([slot, values]) => {
    const fitting = values.filter((value) => ` ${parts[slot] ?? head} `.includes(` ${value} `));
    return fitting.toSorted((one, other) => other.length - one.length)[0] === meant[slot];
  });
}
