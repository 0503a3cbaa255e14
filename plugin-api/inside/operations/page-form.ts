/** The form of `page` of an operation: its mistakes are told when the operation is added, and none waits for a browser. */

import type { PageView } from '../../contract/plugin-page.ts';
import type { Operation } from '../../services/operations.ts';
import { isObject } from '../schema-reader.ts';

/** Undefined where it is good, else what it has to be. */
type Rule = (value: unknown) => string | undefined;
type Members = Readonly<Record<string, readonly [needed: boolean, rule: Rule]>>;

const MOST_TEXT = 1_000;
const MOST_ITEMS = 32;
/** Each browser gets the pages of all operations when it begins. */
const MOST_BYTES = 16_384;
const FORMATS = [
  'ago',
  'when',
  'time',
  'ms',
  'bytes',
  'json',
  'count',
  'if',
  'list',
  'code',
  'badge',
  'word',
  'plugin',
];
const FIELD = /\{([^{}:]+)(?::([^{}]*))?\}/g;
const NAME = /^[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)+$/;

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= MOST_TEXT;

const word: Rule = (value) => (isText(value) ? undefined : 'a text');
const oneOf =
  (...values: readonly string[]): Rule =>
  (value) =>
    values.includes(value as string) ? undefined : `one of ${values.join(', ')}`;
const record: Rule = (value) => (isObject(value) ? undefined : 'an object');
const name: Rule = (value) => (isText(value) && NAME.test(value) ? undefined : 'the name of an operation');

const text: Rule = (value) => {
  if (typeof value === 'string') return word(value) ?? format(value);
  if (!isObject(value) || !isText(value.en)) return 'a text, or one for each language with `en`';
  const wrong = Object.entries(value).find(([language, one]) => !['en', 'de', 'fr'].includes(language) || !isText(one));
  return wrong ? 'texts for en, de and fr' : Object.values(value).map(String).map(format).find(Boolean);
};

function format(template: string): string | undefined {
  for (const [field, , one] of template.matchAll(FIELD))
    if (one !== undefined && !FORMATS.includes(one))
      return `a text whose ${field} has one of the formats ${FORMATS.join(', ')}`;
  return undefined;
}

const list =
  (rule: Rule, least = 1): Rule =>
  (value) => {
    if (!Array.isArray(value) || value.length < least || value.length > MOST_ITEMS)
      return `a list of ${least} to ${MOST_ITEMS}`;
    const wrong = value.map(rule).find((one) => one !== undefined);
    return wrong && `a list of which each is ${wrong}`;
  };

const members =
  (rules: Members): Rule =>
  (value) =>
    isObject(value) ? wrongMember(value, rules) : 'an object';

function wrongMember(given: Readonly<Record<string, unknown>>, rules: Members): string | undefined {
  const more = Object.keys(given).find((member) => !Object.hasOwn(rules, member));
  if (more !== undefined) return `an object without ${more.slice(0, 40)}`;
  for (const [member, [needed, rule]] of Object.entries(rules)) {
    if (given[member] === undefined && !needed) continue;
    const wanted = rule(given[member]);
    if (wanted !== undefined) return `an object whose ${member} is ${wanted}`;
  }
  return undefined;
}

const column: Rule = (value) =>
  Array.isArray(value) ? list(text, 2)(value) && 'a member, or a title and templates' : text(value);
const texts: Rule = (value) => (Array.isArray(value) ? list(text)(value) : text(value));
const rule: Rule = (value) =>
  isObject(value) && Object.values(value).every((one) => Array.isArray(one)) ? undefined : 'lists of values by member';
const pair =
  (first: Rule, second: Rule): Rule =>
  (value) =>
    Array.isArray(value) && value.length === 2 ? (first(value[0]) ?? second(value[1])) : 'a pair';

const FIELD_OF: Members = {
  name: [true, word],
  label: [false, text],
  hint: [false, text],
  value: [false, word],
  kind: [false, oneOf('fixed', 'secret', 'time')],
  options: [false, list(word)],
};
const ACTION: Members = {
  operation: [true, name],
  label: [true, text],
  params: [false, record],
  text: [false, text],
  icon: [false, word],
  kind: [false, oneOf('main', 'quiet', 'danger')],
  fields: [false, list(members(FIELD_OF))],
  ask: [false, members({ title: [false, text], text: [false, text], submit: [false, text] })],
  done: [false, texts],
  only: [false, rule],
  unless: [false, rule],
};
const LEVELS = ['okay', 'warn', 'error', 'info', 'quiet'];
const levels: Rule = (value) =>
  isObject(value) && Object.values(value).every((one) => LEVELS.includes(one as string))
    ? undefined
    : `levels by word: ${LEVELS.join(', ')}`;
const PAGE: Members = {
  title: [false, text],
  lead: [false, text],
  words: [false, word],
  params: [false, record],
  choice: [false, list(word, 2)],
  after: [false, list(word)],
  rows: [false, word],
  key: [false, list(word)],
  columns: [true, list(column)],
  levels: [false, levels],
  marks: [false, list(members({ text: [true, text], level: [false, oneOf(...LEVELS)], only: [false, rule] }))],
  groups: [false, list(pair(text, rule))],
  heading: [false, text],
  aside: [false, text],
  empty: [false, text],
  notes: [false, list(text)],
  tables: [false, list(members({ title: [true, text], rows: [true, word], columns: [true, list(column)] }))],
  detail: [false, name],
  edit: [false, members({ operation: [true, name], member: [true, word], schema: [true, word] })],
  actions: [false, list(members(ACTION))],
  head: [false, list(members(ACTION))],
};

/** Operations that a page of this form calls; of a good form alone. */
function called({ detail, edit, actions = [], head = [] }: PageView): readonly string[] {
  const names = [detail, edit?.operation, ...[...actions, ...head].map(({ operation }) => operation)];
  return names.filter((one) => one !== undefined);
}

function isSmall(page: unknown): boolean {
  try {
    return (JSON.stringify(page) ?? '').length <= MOST_BYTES;
  } catch {
    return false; // a circle, or numbers that JSON has not
  }
}

/**
 * Mistake of the page of an operation, or undefined. A page of an `installed` plugin calls operations with the first
 * word of its own alone: their params come from rows that it writes itself. The OEM answers for a plugin of the SKU.
 */
export function wrongPage({ name: own, rest, page }: Operation, installed: boolean): string | undefined {
  if (!isSmall(page)) return `page has to be data of at most ${MOST_BYTES} characters`;
  const wanted = members(PAGE)(page);
  if (wanted !== undefined) return `page has to be ${wanted}`;
  if (rest?.method !== 'GET') return 'page is of an operation without REST GET, and a page asks only what reads';
  const { title, words, edit } = page!;
  if (!installed) return undefined;
  if (words !== undefined) return 'page has words, which are for plugins of the tree: write the texts themselves';
  if (edit !== undefined) return 'page has edit, whose schemas are for plugins of the tree: use fields of an action';
  const first = own.slice(0, own.indexOf('.') + 1);
  const foreign = called(page!).find((one) => !one.startsWith(first));
  if (foreign !== undefined) return `page calls ${foreign}, and may call ${first}* alone`;
  const isDetail = rest.path.includes('/:');
  if (isDetail && title !== undefined) return `page has a title for the menu, and ${rest.path} needs a row`;
  return isDetail || title !== undefined ? undefined : 'page has no title';
}
