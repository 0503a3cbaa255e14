import type { Input } from './input.ts';
import { code, page, sentence, table } from './markdown.ts';
import { describeOperation } from './operations.ts';

/** docs/reference/rest.md */
export function restPage({ operations }: Input): string {
  const routed = operations.flatMap((operation) => (operation.rest ? [{ ...operation, rest: operation.rest }] : []));
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
    ].join('\n'),
    table(
      ['route', 'operation', 'capability', 'what'],
      routed.map(({ name, summary, capability, anonymous, rest }) => [
        `[${code(`${rest.method} ${rest.path}`)}](#${name.replaceAll('.', '').toLowerCase()})`,
        code(name),
        anonymous ? 'none, not even an identity' : capability ? code(capability) : '',
        sentence(summary),
      ]),
    ),
    ...routed.flatMap((operation) => {
      const { rest } = operation;
      const success = rest.sse ? 'a stream of server-sent events' : `answers ${rest.status ?? 200}`;
      return describeOperation(operation, `${code(`${rest.method} ${rest.path}`)}, ${success}`);
    }),
  );
}
