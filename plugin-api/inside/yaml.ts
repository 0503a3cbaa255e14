/** YAML that knows its lines, for messages that name file and line. Text in, values out: no files are read here. */

import { reasonOf } from '../contract/errors.ts';
import { isNestedDeeperThan } from '../kits/json-depth.ts';
import { packageLater } from './lazy-package.ts';
import { plainFault } from './yaml-plain.ts';

/** A start whose manifests are known reads no YAML. */
const yaml = packageLater<typeof import('yaml')>('yaml', import.meta.url);

export { plainFault } from './yaml-plain.ts';

export type YamlPath = readonly (string | number)[];

export interface YamlText {
  /** Undefined where there are errors. */
  readonly value: unknown;
  /** Faults of syntax, duplicate keys, and values that JSON cannot hold: tags, names that are no texts, numbers beyond a double. */
  readonly errors: readonly { readonly line: number; readonly message: string }[];
  /** Line of the member at `path`, or of the nearest parent that is there; counts from 1. */
  line(path: YamlPath): number;
}

/** Bounds against files that are made to hurt: bytes of the text, and the depth of lists and maps in each other. */
const MOST_BYTES = 1 << 20;
const DEEPEST = 64;
const TOO_DEEP = `lists and maps stand in each other more than ${DEEPEST} deep`;

/**
 * A text of at most 1 MiB, nested 64 deep, without aliases that unfold to more than is written: all else is an error
 * like a fault of syntax.
 */
export function parseYaml(text: string): YamlText {
  const hostile = hostileLine(text);
  if (hostile) return { value: undefined, errors: [hostile], line: () => hostile.line };
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  // The library would print its warnings, with lines of the file, to the terminal.
  const document = parseDocument(text, { lineCounter: lines, logLevel: 'error', prettyErrors: false });
  const errors = document.errors.map(({ code, message, pos }) => ({
    line: lines.linePos(pos[0]).line,
    message: FAULTS[code] ?? message,
  }));
  const fault = errors.length > 0 ? undefined : plainFault(yaml(), document, (at) => lines.linePos(at).line);
  if (fault) errors.push(fault);
  let value: unknown;
  try {
    value = errors.length > 0 ? undefined : document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    errors.push({ line: 1, message: `it cannot be unfolded: ${reasonOf(error)}` });
  }
  // Each alias may stand for one level more.
  if (text.includes('*') && isNestedDeeperThan(value, DEEPEST)) {
    errors.push({ line: 1, message: TOO_DEEP });
    value = undefined;
  }
  return {
    value,
    errors,
    line: (path) => lines.linePos(offsetOf(document.contents, path)).line,
  };
}

/** The parser's faults in words for people who do not know its terms. */
const FAULTS: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'an alias (*name) cannot have an anchor or a tag',
  BAD_ALIAS: 'an alias (*name) needs the name of an anchor (&name) that stands before it',
  BAD_COLLECTION_TYPE: 'a list or a map has the tag of the other',
  BAD_DIRECTIVE: 'a line that begins with % is a directive, and this is none',
  BAD_DQ_ESCAPE: 'a backslash inside of double quotes begins an escape, and this is none; use single quotes',
  BAD_INDENT: 'the indentation does not fit the lines above',
  BAD_SCALAR_START: 'a text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a name cannot be followed by two values; is a line break or a quote missing?',
  BLOCK_IN_FLOW: 'inside of [ ] and { } everything stands in one line form; no lists with "-" there',
  DUPLICATE_KEY: 'this name stands in the same map twice',
  KEY_OVER_1024_CHARS: 'a name has at most 1,024 characters',
  MISSING_CHAR: 'a quote, bracket, comma or colon is missing here or above',
  MULTILINE_IMPLICIT_KEY: 'a name stands in one line; is a colon missing?',
  MULTIPLE_DOCS: 'there is one document in a file; remove the line ---',
  TAB_AS_INDENT: 'tabs cannot indent; use spaces',
  UNEXPECTED_TOKEN: 'this character was not expected here; text with special characters stands in quotes',
};

/** The parser calls itself for each level: a line of ten thousand brackets would end the process. */
function hostileLine(text: string): { readonly line: number; readonly message: string } | undefined {
  if (text.length > MOST_BYTES) return { line: 1, message: `it has more than ${MOST_BYTES} characters` };
  const message = TOO_DEEP;
  let line = 1;
  let depth = 0;
  // Brackets of texts and comments are none.
  for (const character of text.replace(/"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?<=^|\s)#.*/gm, '')) {
    if (character === '\n') line++;
    else if (character === '[' || character === '{') depth++;
    else if ((character === ']' || character === '}') && depth > 0) depth--;
    if (depth > DEEPEST) return { line, message };
  }
  const dashes = /^[ ]*(?:[-?:][ \t]+){65}/m.exec(text);
  const indent = /^[ ]{1000}/m.exec(text);
  const at = dashes ?? indent;
  return at ? { line: text.slice(0, at.index).split('\n').length, message } : undefined;
}

/** An error of ajv, as far as it is needed here. */
interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  /** The wrong name in an error of `propertyNames`. */
  readonly propertyName?: string | undefined;
}

/** Findings of ajv, each with the path of its member (the extra member itself, not its parent) and a reason in words. */
export function schemaProblems(
  errors: readonly SchemaError[] | null | undefined,
): readonly { readonly path: YamlPath; readonly reason: string; readonly keyword: string }[] {
  // `if` and `propertyNames` say nothing that the error inside them does not say.
  return (errors ?? [])
    .filter(({ keyword }) => keyword !== 'if' && keyword !== 'propertyNames')
    .map((error) => ({ path: pathOf(error), reason: reason(error), keyword: error.keyword }));
}

function pathOf({ instancePath, params, propertyName }: SchemaError): YamlPath {
  const names = instancePath.split('/').slice(1);
  const path = names.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const member = params.additionalProperty ?? propertyName;
  return member === undefined ? path : [...path, String(member)];
}

function reason({ keyword, params, message }: SchemaError): string {
  if (keyword === 'additionalProperties') return 'is not known here';
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  if (keyword === 'const') return `must be ${params.allowedValue}`;
  return message ?? keyword;
}

function offsetOf(root: unknown, path: YamlPath): number {
  const { isMap, isScalar, isSeq } = yaml();
  let node = root;
  let offset = 0;
  for (const part of path) {
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part)) : null;
    const next = pair ? pair.value : isSeq(node) ? node.items[Number(part)] : undefined;
    const found = (pair?.key ?? next) as { readonly range?: readonly number[] | null } | null | undefined;
    if (!found?.range) break;
    offset = found.range[0] ?? offset;
    node = next;
  }
  return offset;
}
