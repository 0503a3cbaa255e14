/**
 * Subset of YAML: no more than JSON holds. All else would lose or change a value without a word, so it is refused
 * with its line.
 */
import type { Alias, Document, Node, Pair, Scalar } from 'yaml';

export interface YamlFault {
  readonly line: number;
  readonly message: string;
}

type Yaml = typeof import('yaml');

/**
 * The first thing that is not plain, in the order of the text. `known`: the one tag of files that the Core itself
 * writes; any name and text of JSON may stand in those.
 */
export function plainFault(
  { visit, isScalar, isCollection }: Yaml,
  document: Document.Parsed,
  lineAt: (offset: number) => number,
  known?: string,
): YamlFault | undefined {
  const [warning] = document.warnings;
  const directive = document.directives.yaml.explicit === true && document.directives.yaml.version !== '1.2';
  if (directive) return { line: 1, message: 'a file is of YAML 1.2; take out the line that begins with %YAML' };
  let fault: YamlFault | undefined;
  const refuse = (node: unknown, message: string): symbol => {
    fault = { line: lineAt((node as Partial<Node> | null)?.range?.[0] ?? 0), message };
    return visit.BREAK;
  };
  const ofNode = (node: Node): symbol | undefined => {
    const { tag } = node as { readonly tag?: string };
    return tag === undefined || tag === known
      ? undefined
      : refuse(node, `the tag ${shortTag(tag)} is not known here; write the value without it`);
  };
  visit(document, {
    Alias: (_, alias: Alias, path) =>
      path.some((one) => (one as { readonly anchor?: string }).anchor === alias.source)
        ? refuse(alias, `the alias *${alias.source} stands inside of what it names`)
        : undefined,
    Collection: (_, node) => ofNode(node),
    Scalar: (_, scalar) => {
      const found = ofNode(scalar);
      const message = found === undefined ? valueFault(scalar, known === undefined) : undefined;
      return message === undefined ? found : refuse(scalar, message);
    },
    Pair: (_, { key }: Pair) => {
      if (isCollection(key)) return refuse(key, 'a name is a text, no list and no map');
      const message = isScalar(key) ? nameFault(key, known === undefined) : undefined;
      return message === undefined ? undefined : refuse(key, message);
    },
  });
  if (!fault && warning) fault = { line: lineAt(warning.pos[0]), message: warning.message };
  return fault;
}

function valueFault({ value, source = '' }: Scalar, ofPeople: boolean): string | undefined {
  if (typeof value === 'string' && ofPeople && !value.isWellFormed())
    return 'a text has half of a character, by an escape \\ud800 to \\udfff';
  if (typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  const digits = /^[-+]?0*(\d+)$/.exec(source)?.[1];
  const kept = Number.isFinite(Number(value)) && (digits === undefined || `${Math.abs(Number(value))}` === digits);
  return kept ? undefined : `the number ${source} cannot be kept as it is; put it in quotes for a text`;
}

function nameFault({ value, source = '', type }: Scalar, ofPeople: boolean): string | undefined {
  if (value === '__proto__' && ofPeople) return 'a name cannot be __proto__';
  // In quotes it is a name like any other: YAML 1.1 merges a plain one alone.
  if (value === '<<' && type === 'PLAIN' && ofPeople) return 'maps are not merged with <<; write the members out';
  if (typeof value === 'string') return undefined;
  if (value === null) return 'a name is missing before its colon, or is null; put it in quotes for a text';
  return String(value) === source ? undefined : `the name ${source} would become ${value}; put it in quotes`;
}

const shortTag = (tag: string): string => tag.replace('tag:yaml.org,2002:', '!!');
