/** Answers of servers that nobody trusts: one request over HTTP or HTTPS, and a text of bounded length. Redirects are not followed. */
import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface Asked {
  readonly method?: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body?: Uint8Array;
  /** `false`: a connection for this request alone. */
  readonly agent: Agent | false;
  readonly signal: AbortSignal;
  /** Called once the connection is there: before it no byte has left. */
  readonly reached?: () => void;
}

/** The answer with its body unread. Rejects with the errors of the connection and of the signal. */
export function answerOf(url: URL, { body, reached, ...options }: Asked): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options);
  outgoing.once('response', (answer) => {
    // Its reader hears the error, too; between the two no listener may be missing.
    answer.on('error', () => undefined);
    resolve(answer);
  });
  outgoing.on('error', reject);
  // An answer 101 to a request without an upgrade ends without a response and without an error.
  outgoing.once('close', () => reject(new Error('it ended without an answer')));
  if (reached)
    outgoing.once('socket', (socket) => void (socket.connecting ? socket.once('connect', reached) : reached()));
  outgoing.end(body);
  return promise;
}

/** The body as a text; undefined where it has more than `most` bytes, and the rest is not read. */
export async function textWithin(answer: IncomingMessage, most: number): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
