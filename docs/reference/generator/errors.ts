import { ERROR_CODES } from '@device-core/plugin-api';
import type { Input } from './input.ts';
import { code, page, table } from './markdown.ts';
import { readSource } from './source.ts';

/** docs/reference/errors.md */
export function errorsPage({ operations }: Input): string {
  const users = (error: string) => operations.filter(({ errors }) => (errors as readonly string[]).includes(error));
  const sections = readSource('plugin-api/errors.ts')
    .split(/^ {2}\/\/ ---- (.+?) ----$/m)
    .slice(1);
  const parts: string[] = [];
  for (let index = 0; index < sections.length; index += 2) {
    const names = [...sections[index + 1]!.matchAll(/^ {2}([A-Z][A-Z0-9_]*): \[/gm)].map((match) => match[1]!);
    const rows = names.map((name) => {
      const [status, rpc, template] = ERROR_CODES[name as keyof typeof ERROR_CODES];
      const from = users(name).map((operation) => code(operation.name));
      return [`<a id="${name}"></a>${code(name)}`, String(status), String(rpc), template, from.join(', ')];
    });
    const title = sections[index]!;
    parts.push(`## ${title[0]!.toUpperCase()}${title.slice(1)}`);
    parts.push(table(['code', 'HTTP', 'JSON-RPC', 'text', 'declared by'], rows));
  }
  return page(
    'Errors',
    'Every failure of the Core has a code of this table. Programs read the code; the text is for people and may change. A code is never reused for another meaning.',
    'Over REST a failure is `{"ok": false, "error": "<CODE>: <text>", "code": "<CODE>", "details": {...}}` with the status of the table. Over JSON-RPC it is an error object with the number of the table, the text as `message`, and `data.code` and `data.details`. The SPI endpoint answers with `ok` and `error` alone, with 400 for a bad request and 500 for a failed transfer.',
    'In the texts `{name}` stands for a detail. Any operation may also answer with the codes of the gate before it: `UNAUTHENTICATED`, `CAPABILITY_DENIED`, `RATE_LIMITED`, `PARAMS_INVALID`, `TIMEOUT`, `CANCELLED`, `UNAVAILABLE` and `INTERNAL`.',
    ...parts,
  );
}
