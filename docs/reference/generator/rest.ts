import type { OperationInfo, RestBinding } from '@device-core/plugin-api/services/operations';
import { exampleOf } from './example.ts';
import { type Examples, readExamples } from './examples/recorded.ts';
import type { Input } from './input.ts';
import { code, page, sentence, table } from './markdown.ts';
import { describeOperation } from './operations.ts';

type Routed = OperationInfo & { readonly rest: RestBinding };

/** Where the REST page of an operation is, seen from docs/reference. */
export function restLink(name: string): string {
  return `rest/${areaOf(name)}.md#${anchorOf(name)}`;
}

/** docs/reference/rest.md: what holds for every operation, and where each is described. */
export function restPage(input: Input): string {
  return page(
    'REST',
    'HTTP/JSON on TCP port 55280 of localhost and on the shared Unix socket `<run>/core.sock`; both serve the same routes. The Core describes itself at `GET /openapi.json`.',
    [
      '- **Who calls.** Over TCP every request carries `Authorization: Bearer <token>`: an app reads its token from `$CREDENTIALS_DIRECTORY/token`, the operator from `<run>/operator.token`. On the Unix socket the peer credentials say who calls, and a token may be sent as well. A wrong token is 401, never ignored.',
      '- **Host and Origin.** Over TCP only `localhost`, `127.0.0.1` and `[::1]` with the right port; a foreign `Origin` is refused with 403.',
      '- **Order of checks.** Host and Origin, identity (401), capability (403), content type and body (400), execution.',
      '- **Bodies** are JSON objects with `Content-Type: application/json`, at most 256 KiB unless the route says otherwise (413). Unknown members are refused.',
      '- **Answers.** Success is `{"ok": true, ...}`; failure is `{"ok": false, "error": "<CODE>: <text>", "code", "details"}`, see [errors](errors.md).',
      '- **Versions.** The bare paths are version 1 and stand under `/v1`, too. Every response carries `Device-Api-Version: 1`.',
      '- **Limits.** Too many requests are 429 with `Retry-After`.',
      '- **Deadline.** `Device-Deadline-Ms: 250` says for how many milliseconds the answer is worth something, counted from the head of the request. The call ends with `TIMEOUT` (504) then. It only shortens the limit that the operation has. What is no number of milliseconds is 400. [JSON-RPC](rpc.md) has the same as `meta.deadlineMs`.',
      '- **Start.** While plugins start, what is not there yet is `UNAVAILABLE` (503) with `Retry-After`, `details.starting: true`.',
    ].join('\n'),
    'Every operation has a request and the answer that the simulated device gave to it. A test asks it again. `...` stands for what was left out; times are all the same.',
    areas(input)
      .map(([area]) => `- [${area}](rest/${area}.md)`)
      .join('\n'),
    table(
      ['route', 'operation', 'capability', 'what'],
      routed(input).map(({ name, summary, capability, anonymous, rest }) => [
        // The anchor is that of the page before it was split.
        `<a id="${anchorOf(name)}"></a>[${code(`${rest.method} ${rest.path}`)}](${restLink(name)})`,
        code(name),
        anonymous ? 'none, not even an identity' : capability ? code(capability) : '',
        sentence(summary),
      ]),
    ),
  );
}

/** docs/reference/rest/<area>.md, by name. */
export function restPages(input: Input): Readonly<Record<string, string>> {
  const examples = readExamples();
  return Object.fromEntries(areas(input).map(([area, rows]) => [`rest/${area}.md`, areaPage(area, rows, examples)]));
}

function areaPage(area: string, operations: readonly Routed[], examples: Examples): string {
  return page(
    `REST: ${area}`,
    '[All operations](../rest.md), and what holds for each of them.',
    operations.map(({ name, rest, summary }) => line(name, rest, summary)).join('\n'),
    ...operations.flatMap((operation) => {
      const { name, rest } = operation;
      const success = rest.sse ? 'a stream of server-sent events' : `answers ${rest.status ?? 200}`;
      const seen = `${code(`${rest.method} ${rest.path}`)}, ${success}`;
      return [...describeOperation(operation, seen, '../'), ...exampleOf(name, examples[name])];
    }),
  );
}

function line(name: string, { method, path }: RestBinding, summary: string): string {
  return `- [${code(`${method} ${path}`)}](#${anchorOf(name)}): ${sentence(summary)}`;
}

function routed({ operations }: Input): readonly Routed[] {
  return operations.flatMap((operation) => (operation.rest ? [{ ...operation, rest: operation.rest }] : []));
}

function areas(input: Input): readonly (readonly [area: string, operations: readonly Routed[]])[] {
  return [...Map.groupBy(routed(input), ({ name }) => areaOf(name))];
}

/** `spi.transfer` -> `spi` */
function areaOf(name: string): string {
  return name.split('.')[0]!;
}

/** The anchor of the heading of an operation. */
export function anchorOf(name: string): string {
  return name.replaceAll('.', '').toLowerCase();
}
