import type { Input } from './input.ts';
import { code, codes, fence, page, sentence, table } from './markdown.ts';
import { describeOperation } from './operations.ts';
import { anchorOf, restLink } from './rest.ts';
import { schemaTable } from './schema.ts';
import { declaration, readSource } from './source.ts';

/** docs/reference/rpc.md */
export function rpcPage({ operations, streams }: Input): string {
  const methods = operations.filter(({ rpc }) => rpc !== false);
  const messages = readSource('plugin-api/contract/app-messages.ts');
  return page(
    'JSON-RPC',
    'Every app has a Unix socket of its own, `<run>/apps/<name>/rpc.sock`; the environment variable `DEVICE_RPC_SOCKET` names it. Who connects there is that app, without a token. The Core describes itself with the method `rpc.discover` (OpenRPC).',
    [
      '- JSON-RPC 2.0, UTF-8, one message a line; messages that follow each other without a newline are read, too. A line is at most 1 MiB, a batch at most 32 messages. A request without `id`, or with `null` as its `id`, is a notification: nothing answers it.',
      '- `meta: {"deadlineMs": 250}` beside `params` says for how many milliseconds the answer is worth something, counted from the arrival of the request. The call ends with `TIMEOUT` then. It only shortens the limit that the operation has. What is no number of milliseconds is `REQUEST_INVALID`. [REST](rest.md) has the same as the header `Device-Deadline-Ms`.',
      '- The methods are the operations of [REST](rest.md) under their dotted names, with the same parameters, checks, limits and errors. The result is the answer without `ok`.',
      '- An error carries the number of [the table](errors.md), and `data.code`, `data.details`.',
    ].join('\n'),
    '## Messages of the Core',
    'The first message is the notification `READY`:',
    fence('ts', declaration(messages, 'ReadyMessage')),
    'A call of a function is a request whose method is the name of the function and whose params are its inputs by name. `meta` is an extra member beside them. Answer it as any JSON-RPC request.',
    fence('ts', declaration(messages, 'CallMeta')),
    table(
      ['notification', 'params', 'meaning'],
      [
        [code('event'), 'an event envelope', 'an event of a subscription'],
        [code('cancel'), code('{callId}'), 'nobody waits for the answer of this call any more'],
        [code('config.changed'), code('{key, value, source, revision}'), 'a setting that this app sees has changed'],
        [code('stop'), code('{reason, graceMs}'), 'end by yourself within this time'],
      ],
    ),
    '## Streams',
    'Bytes go over streams with credit: the receiver grants bytes and the sender never exceeds them. `stream.open` opens one and answers with its id and the credit that the app has. With `binary: true` a chunk is a message with the member `"bytes": N`, followed after its newline by exactly N raw bytes, at most 4 MiB. Otherwise chunks are base64 in `data`.',
    table(
      ['notification', 'params', 'meaning'],
      [
        [code('stream.data'), code('{id, seq, data, more?}'), 'bytes for the app, within the credit that it gave'],
        [code('stream.credit'), code('{id, bytes}'), 'the app may write so many bytes more'],
        [code('stream.end'), code('{id, error?}'), 'the stream is over'],
      ],
    ),
    streams.length === 0
      ? ''
      : table(
          ['endpoint', 'direction', 'capability', 'what'],
          streams.map(({ name, direction, capability, summary }) => [
            code(name),
            direction,
            capability ? code(capability) : '',
            sentence(summary),
          ]),
        ),
    ...streams.flatMap(({ name, params }) => {
      const members = schemaTable(params);
      return members ? [`Parameters of ${code(name)}:\n\n${members}`] : [];
    }),
    '## Methods',
    table(
      ['method', 'capability', 'what', 'over REST'],
      methods.map(({ name, capability, summary, rest }) => [
        rest ? `[${code(name)}](${restLink(name)})` : `[${code(name)}](#${anchorOf(name)})`,
        capability ? code(capability) : '',
        sentence(summary),
        rest ? code(`${rest.method} ${rest.path}`) : 'no',
      ]),
    ),
    `${codes(methods.filter(({ rest }) => !rest).map(({ name }) => name))} exist here alone:`,
    ...methods.filter(({ rest }) => !rest).flatMap((operation) => describeOperation(operation, code(operation.name))),
  );
}
