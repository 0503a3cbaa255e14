/** The other side: a collector that speaks OTLP/HTTP. Only imported where something is sent. */
import { maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { answerOf, textWithin } from '@device-core/plugin-api/inside/http-answer';
import type { Sent } from '@device-core/plugin-api/inside/services/outbox';

export interface Post {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Limits {
  readonly scope: Scope;
  /** Milliseconds for the whole of it. */
  readonly answerMs: number;
}

const MOST_ANSWER = 64 << 10;
const LONGEST_PAUSE_MS = 24 * 3_600_000;
/** https://opentelemetry.io/docs/specs/otlp/#failures-1: these may be tried again, and no others. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Codes that the specification leaves open: the configuration has to be mended, and the waiting messages are not at fault. */
const MEND: ReadonlySet<number> = new Set([401, 403, 407]);

/** Never rejects. `rejected`: what the collector says that it threw away. */
export async function push(
  post: Post,
  { scope, answerMs }: Limits,
  signal: AbortSignal,
): Promise<{ readonly sent: Sent; readonly rejected?: string }> {
  // An error before the connection means that no byte has left.
  let connected = false;
  const reached = () => {
    connected = true;
  };
  const asked = (limit: AbortSignal) => exchange(post, scope, limit, reached);
  try {
    return await scope.within('answer of the collector', answerMs, asked, { signal });
  } catch (thrown) {
    const { code } = thrown as { readonly code?: unknown };
    const reason = typeof code === 'string' ? code : reasonOf(thrown);
    return { sent: { outcome: 'later', reason, ...(!connected && { unsent: true }) } };
  }
}

async function exchange(
  { url, headers, body }: Post,
  scope: Scope,
  signal: AbortSignal,
  reached: () => void,
): Promise<{ readonly sent: Sent; readonly rejected?: string }> {
  const bytes = Buffer.from(body);
  const fixed = { 'content-type': 'application/json', 'content-length': bytes.length, connection: 'close' };
  // No agent: one connection a minute is none that is kept. Redirects are not followed, for it was meant for one host.
  const response = await answerOf(url, {
    method: 'POST',
    headers: { ...headers, ...fixed },
    body: bytes,
    agent: false,
    signal,
    reached,
  });
  const answer = (await textWithin(response, MOST_ANSWER)) ?? '';
  response.destroy(); // what it still has to say is not heard
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) {
    const rejected = partial(answer);
    return { sent: { outcome: 'taken' }, ...maybe({ rejected }) };
  }
  const reason = `it answered ${status}`;
  if (status === 413) return { sent: { outcome: 'too-large' } };
  if (AGAIN.has(status)) {
    const afterMs = pause(response.headers['retry-after'], scope.clock.now());
    return { sent: { outcome: 'later', reason, ...maybe({ afterMs }) } };
  }
  if (status >= 300 && status < 400)
    return { sent: { outcome: 'later', reason: `${reason}, a redirect, which is not followed` } };
  if (MEND.has(status)) return { sent: { outcome: 'later', reason } };
  return { sent: { outcome: 'refused', reason } };
}

/** `Retry-After`: seconds, or a date. */
function pause(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) ? Math.min(LONGEST_PAUSE_MS, Math.max(0, ms)) : undefined;
}

/** `partialSuccess` of an answer, as far as it is one. */
function partial(answer: string): string | undefined {
  try {
    const { partialSuccess: said } = JSON.parse(answer) as {
      readonly partialSuccess?: Readonly<Record<string, unknown>>;
    };
    const count = Number(said?.rejectedDataPoints ?? said?.rejectedLogRecords ?? 0);
    if (!(count > 0)) return undefined;
    const words = String(said?.errorMessage ?? '')
      .slice(0, 200)
      .replace(/\p{Cc}/gu, ' ');
    return `${count} were rejected${words === '' ? '' : `: ${words}`}`;
  } catch {
    return undefined; // the collector took it; its text is unreadable
  }
}
