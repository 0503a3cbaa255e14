import type { OperationError, OperationInfo } from '@device-core/plugin-api/services/operations';
import { code, sentence } from './markdown.ts';
import { schemaTable } from './schema.ts';

/** Name, who may, what goes in, what comes out and how it fails: the same for both front ends. `up` leads to docs/reference. */
export function describeOperation(operation: OperationInfo, seen: string, up = ''): readonly string[] {
  const { name, summary, description, params, result, errors, rest } = operation;
  const members = schemaTable(params);
  const answer = schemaTable(result, { required: false });
  return [
    `### ${name}`,
    `${seen}. ${sentence(summary)} ${access(operation)}`,
    description ?? '',
    members ? `Parameters${rest ? where(operation) : ''}:\n\n${members}` : 'No parameters.',
    answer ? `Answer:\n\n${answer}` : '',
    errors.length > 0 ? `Errors: ${errors.map((error) => errorLink(error, up)).join(', ')}.` : '',
  ].filter((part) => part !== '');
}

/** Errors that a plugin defines are not in the table. */
function errorLink(error: OperationError, up: string): string {
  return typeof error === 'string'
    ? `[${code(error)}](${up}errors.md#${error})`
    : `${code(error.code)} (${error.status})`;
}

function access({ capability, anonymous, access }: OperationInfo): string {
  if (access !== undefined) return access;
  if (anonymous) return 'Callers without identity may use it, too.';
  if (capability === undefined) return 'Every identified caller may use it.';
  return `It needs ${code(capability)}.`;
}

function where({ rest }: OperationInfo): string {
  if (!rest) return '';
  const inPath = [...rest.path.matchAll(/:(\w+)/g)].map((match) => code(match[1]!));
  const others = rest.method === 'GET' || rest.method === 'DELETE' ? 'the query' : 'the JSON body';
  return inPath.length === 0 ? ` in ${others}` : `, ${inPath.join(', ')} in the path, all others in ${others}`;
}
