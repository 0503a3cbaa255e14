/** Files of a web server that nobody trusts: each answer is bounded in bytes, in pace and in where it may lead. */
import { Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { CoreError, type Scope } from '@device-core/plugin-api';
import { answerOf } from '@device-core/plugin-api/inside/http-answer';

export interface RequestOptions {
  readonly url: string;
  readonly scope: Scope;
  /** Longest wait for an answer, and how long each piece of it is measured, milliseconds. */
  readonly answerMs: number;
  readonly leastBytesPerSecond: number;
}

export interface Wanted {
  /** First byte; an answer from the beginning is taken, too. */
  readonly from?: number;
  /** Longest that the file may be, from its beginning. */
  readonly most: number;
  readonly signal: AbortSignal;
  /** With the first byte that follows: 0, or `from`. Called once, before any chunk. */
  readonly begin?: (from: number) => Promise<void>;
}

const MOST_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const NETWORK: Readonly<Record<string, string>> = {
  ENOTFOUND: 'its name is not known here',
  EAI_AGAIN: 'no server of names answers',
  ECONNREFUSED: 'no program listens there',
  ECONNRESET: 'the connection broke off',
  EHOSTUNREACH: 'there is no way to it',
  ENETUNREACH: 'there is no network',
  EPIPE: 'the connection broke off',
  ETIMEDOUT: 'no answer came',
};

/** A status that says that there is no such file; TUF has to know it. */
export class Absent extends CoreError {
  readonly statusCode: number;

  constructor(url: string, path: string, statusCode: number) {
    super('REPOSITORY_FAILED', { url, reason: `it has no ${path} (${statusCode})` });
    this.statusCode = statusCode;
  }
}

export class Requests implements Disposable {
  /** Without credentials. */
  readonly name: string;
  readonly #base: URL;
  readonly #options: RequestOptions;
  readonly #agents = new Map<string, HttpAgent>();
  /** Files that are being read; nobody needs the connections any more once they are. */
  #reading = 0;
  #idle = false;

  constructor(options: RequestOptions) {
    this.#options = options;
    this.#base = new URL(options.url.endsWith('/') ? options.url : `${options.url}/`);
    const shown = new URL(this.#base);
    shown.username = '';
    shown.password = '';
    this.name = shown.href;
  }

  failed(reason: string, cause?: unknown): CoreError {
    return new CoreError('REPOSITORY_FAILED', { url: this.name, reason }, { cause });
  }

  untrusted(reason: string, cause?: unknown): CoreError {
    return new CoreError('REPOSITORY_UNTRUSTED', { url: this.name, reason }, { cause });
  }

  /** A whole file in memory. Rejects with REPOSITORY_FAILED, and the reason of the signal. */
  async bytes(path: string, wanted: Pick<Wanted, 'most' | 'signal'>): Promise<Buffer> {
    const chunks: Buffer[] = [];
    await this.read(path, wanted, async (chunk) => void chunks.push(chunk));
    return Buffer.concat(chunks);
  }

  /** Hands out the chunks of a file, one after the other. Rejects as bytes(), and with what `take` rejects with. */
  async read(path: string, wanted: Wanted, take: (chunk: Buffer) => Promise<void>): Promise<void> {
    const { signal } = wanted;
    signal.throwIfAborted();
    let answer: IncomingMessage | undefined;
    this.#reading += 1;
    try {
      answer = await this.#answer(path, wanted);
      await this.#body(answer, path, wanted, take);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw this.#reasonOf(error);
    } finally {
      answer?.destroy();
      this.#reading -= 1;
      if (this.#idle && this.#reading === 0) this.idle();
    }
  }

  async #answer(path: string, { from = 0, signal }: Omit<Wanted, 'most'>): Promise<IncomingMessage> {
    let url = new URL(path, this.#base);
    for (let count = 0; count <= MOST_REDIRECTS; count += 1) {
      const answer = await this.#request(url, from, signal);
      // The local file is longer than the remote one.
      const beyond = answer.statusCode === 416 && from > 0;
      if (!beyond && !REDIRECTS.has(answer.statusCode ?? 0)) return answer;
      answer.destroy();
      if (beyond) return this.#answer(path, { signal });
      url = this.#next(url, answer.headers.location ?? '');
    }
    throw this.failed(`it leads from one address to the next, more than ${MOST_REDIRECTS} times`);
  }

  /** Another host is for those alone who can prove that they were meant: the login page of a network cannot. */
  #next(url: URL, location: string): URL {
    const next = URL.parse(location, url.href);
    if (next === null || !/^https?:$/.test(next.protocol)) throw this.failed('it leads to an address that is none');
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      throw this.failed(`it leads away from https, to ${next.host}`);
    if (next.host !== url.host && next.protocol !== 'https:')
      throw this.failed(`it leads to ${next.host}: a proxy or the login page of a network is in the way`);
    return next;
  }

  #request(url: URL, from: number, signal: AbortSignal): Promise<IncomingMessage> {
    const secure = url.protocol === 'https:';
    const headers = {
      'accept-encoding': 'identity',
      ...(from > 0 && { range: `bytes=${from}-` }),
      ...(url.username !== '' && { authorization: basic(url) }),
    };
    return this.#timed(signal, (ended) => answerOf(url, { headers, agent: this.#agent(secure), signal: ended }));
  }

  async #body(
    answer: IncomingMessage,
    path: string,
    { from = 0, most, signal, begin }: Wanted,
    take: (chunk: Buffer) => Promise<void>,
  ): Promise<void> {
    const first = this.#firstByte(answer, path, from);
    const length = Number(answer.headers['content-length'] ?? 0);
    if (first + length > most) throw this.failed(`${path} has ${first + length} bytes, more than ${most}`);
    await begin?.(first);
    const { answerMs, leastBytesPerSecond } = this.#options;
    const least = Math.max(1, (leastBytesPerSecond * answerMs) / 1000);
    const chunks = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    let at = first;
    // As much as has to come in the time of an answer, or all of it.
    const piece = async (): Promise<boolean> => {
      for (const end = at + least; at < end; ) {
        const { done, value } = await chunks.next();
        if (done === true) return false;
        at += value.length;
        if (at > most) throw this.failed(`${path} has more than ${most} bytes`);
        await take(value);
      }
      return true;
    };
    while (await this.#timed(signal, piece, () => answer.destroy()));
  }

  /** First byte of an answer. Throws for an answer that holds no file. */
  #firstByte({ statusCode = 0, headers }: IncomingMessage, path: string, from: number): number {
    if (statusCode === 404 || statusCode === 403 || statusCode === 410)
      throw new Absent(this.name, path, statusCode === 410 ? 404 : statusCode);
    if (statusCode !== 200 && statusCode !== 206) throw this.failed(`it answers ${statusCode} for ${path}`);
    if (/html/.test(headers['content-type'] ?? ''))
      throw this.failed('it answers with a web page: a proxy or the login page of a network is in the way');
    if ((headers['content-encoding'] ?? 'identity') !== 'identity')
      throw this.failed(`it packs ${path} once more (${headers['content-encoding']})`);
    if (statusCode === 200) return 0;
    if (from > 0 && new RegExp(`^bytes ${from}-\\d+/(\\d+|\\*)$`).test(headers['content-range'] ?? '')) return from;
    throw this.failed(`it answers with another part of ${path} than was asked for`);
  }

  async #timed<T>(signal: AbortSignal, work: (ended: AbortSignal) => Promise<T>, late?: () => void): Promise<T> {
    const { scope, answerMs } = this.#options;
    try {
      return await scope.within('answer of the repository', answerMs, work, { signal });
    } catch (error) {
      late?.();
      if (error instanceof CoreError && error.code === 'TIMEOUT')
        throw this.failed(`it is too slow, or silent (${answerMs} ms)`, error);
      throw error;
    }
  }

  #agent(secure: boolean): HttpAgent {
    const kind = secure ? 'https' : 'http';
    const options = { keepAlive: true, maxSockets: 2, maxFreeSockets: 1 };
    const agent = this.#agents.get(kind) ?? (secure ? new HttpsAgent(options) : new HttpAgent(options));
    this.#agents.set(kind, agent);
    return agent;
  }

  /** Connections that nobody uses are given back at once: the next look is hours away. Others may be in the middle of a file. */
  idle(): void {
    this.#idle = this.#reading > 0;
    if (this.#idle) return;
    this.#end();
  }

  #end(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #reasonOf(error: unknown): unknown {
    if (error instanceof CoreError) return error;
    const { code = '', message, syscall } = error as NodeJS.ErrnoException;
    if (code in NETWORK) return this.failed(NETWORK[code] ?? code, error);
    if (message === 'aborted' || code.startsWith('HPE_') || code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS'))
      return this.failed(`the connection broke off (${code === '' ? message : code})`, error);
    if (/CERT|SIGNATURE|TLS/.test(code)) return this.failed(`its certificate is not believed (${code})`, error);
    // Errors of the disk pass unchanged: the receiver of the chunks has its codes.
    if (syscall !== undefined) return error;
    return this.failed(message, error);
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}

const basic = ({ username, password }: URL): string =>
  `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
