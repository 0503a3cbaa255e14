import { ERROR_CODES } from '@device-core/plugin-api';
import { HEALTH_CODES } from '../../../plugin-api/inside/health-codes.ts';
import type { Input } from './input.ts';
import { code, page, table } from './markdown.ts';
import { readSource } from './source.ts';

/** docs/reference/errors.md */
export function errorsPage({ operations }: Input): string {
  const users = (error: string) => operations.filter(({ errors }) => (errors as readonly string[]).includes(error));
  const parts = sectionsOf('plugin-api/contract/errors.ts', /^ {2}([A-Z][A-Z0-9_]*): \[/gm).flatMap(
    ({ title, names }) => {
      const rows = names.map((name) => {
        const [status, rpc, template] = ERROR_CODES[name as keyof typeof ERROR_CODES];
        const from = users(name).map((operation) => code(operation.name));
        return [anchored(name), String(status), String(rpc), template, from.join(', ')];
      });
      return [`## ${title}`, table(['code', 'HTTP', 'JSON-RPC', 'text', 'declared by'], rows)];
    },
  );
  const health = sectionsOf('plugin-api/inside/health-codes.ts', /^ {2}([A-Z][A-Z0-9_]*): '/gm).flatMap(
    ({ title, names }) => {
      const rows = names.map((name) => [anchored(name), HEALTH_CODES[name as keyof typeof HEALTH_CODES]]);
      return [`### ${title}`, table(['code', 'meaning'], rows)];
    },
  );
  return page(
    'Errors',
    'Every failure of the Core has a code of this table. Programs read the code; the text is for people and may change. A code is never reused for another meaning.',
    'Over REST a failure is `{"ok": false, "error": "<CODE>: <text>", "code": "<CODE>", "details": {...}}` with the status of the table. Over JSON-RPC it is an error object with the number of the table, the text as `message`, and `data.code` and `data.details`. The SPI endpoint answers with `ok` and `error` alone, with 400 for a bad request and 500 for a failed transfer.',
    'In the texts `{name}` stands for a detail. Any operation may also answer with the codes of the gate before it: `UNAUTHENTICATED`, `CAPABILITY_DENIED`, `RATE_LIMITED`, `PARAMS_INVALID`, `TIMEOUT`, `CANCELLED`, `UNAVAILABLE` and `INTERNAL`.',
    ...parts,
    '## Codes of health',
    'The warnings and the components of `/health` name codes of the tables above, and these. They are no errors: what is asked for works, or says so itself. [Troubleshooting](../guides/troubleshooting.md) has what to do.',
    ...health,
  );
}

/** The codes of a table in the sources, by the headings between them. */
function sectionsOf(
  file: string,
  name: RegExp,
): readonly { readonly title: string; readonly names: readonly string[] }[] {
  const parts = readSource(file)
    .split(/^ {2}\/\/ ---- (.+?) ----$/m)
    .slice(1);
  return parts.flatMap((title, index) => {
    if (index % 2 === 1) return [];
    const names = [...parts[index + 1]!.matchAll(name)].map((match) => match[1]!);
    return [{ title: `${title[0]!.toUpperCase()}${title.slice(1)}`, names }];
  });
}

function anchored(name: string): string {
  return `<a id="${name}"></a>${code(name)}`;
}
