/** YAML that knows its lines, for messages that name file and line. Text in, values out: no files are read here. */
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

export type YamlPath = readonly (string | number)[];

export interface YamlText {
  /** Undefined where there are errors. */
  readonly value: unknown;
  /** Syntax and duplicate keys. */
  readonly errors: readonly { readonly line: number; readonly message: string }[];
  /** Line of the member at `path`, or of the nearest parent that is there; counts from 1. */
  line(path: YamlPath): number;
}

export function parseYaml(text: string): YamlText {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const errors = document.errors.map(({ message, pos }) => ({ line: lines.linePos(pos[0]).line, message }));
  return {
    value: errors.length > 0 ? undefined : document.toJS(),
    errors,
    line: (path) => lines.linePos(offsetOf(document.contents, path)).line,
  };
}

/** An error of ajv, as far as it is needed here. */
interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
}

/** What ajv found, each with the path of the member it is about (the extra member itself, not its parent) and a reason in words. */
export function schemaProblems(
  errors: readonly SchemaError[] | null | undefined,
): readonly { readonly path: YamlPath; readonly reason: string }[] {
  // `if` says nothing that its branch does not say.
  return (errors ?? [])
    .filter(({ keyword }) => keyword !== 'if')
    .map((error) => ({ path: pathOf(error), reason: reason(error) }));
}

function pathOf({ instancePath, params }: SchemaError): YamlPath {
  const names = instancePath.split('/').slice(1);
  const path = names.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const member = params.additionalProperty ?? params.propertyName;
  return member === undefined ? path : [...path, String(member)];
}

function reason({ keyword, params, message }: SchemaError): string {
  if (keyword === 'additionalProperties') return 'is not known here';
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  if (keyword === 'const') return `must be ${params.allowedValue}`;
  return message ?? keyword;
}

function offsetOf(root: unknown, path: YamlPath): number {
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
