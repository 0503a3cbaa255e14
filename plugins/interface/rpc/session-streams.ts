/** The open streams of one session. */
import { type Caller, CoreError, decodeBase64, type Session, toCoreError } from '@device-core/plugin-api';
import type { Invocation, Operations, StreamInfo } from '@device-core/plugin-api/services/operations';
import { AppStream, notification, type StreamPort } from './app-stream.ts';
import type { Counters } from './counters.ts';
import { type Deadlines, Later } from './deadlines.ts';
import { wireError } from './wire-error.ts';

export interface StreamLimits {
  readonly streams: number;
  readonly streamCredit: number;
  readonly lineBytes: number;
  readonly attachmentBytes: number;
}

export interface OpenParams {
  readonly stream: string;
  readonly params?: object;
  readonly binary?: boolean;
  readonly credit?: number;
}

/** Large chunks go in pieces, so that other messages of the session get in between. */
const PIECE = 1024 * 1024;
/** How long a plugin may go on with a stream after the app closed it, and after it last took what the app had written. */
const LINGER_MS = 10_000;

export interface OpenResult {
  readonly id: string;
  /** Bytes that the app may write ahead. */
  readonly credit: number;
}

interface Opened {
  readonly stream: AppStream;
  readonly direction: StreamInfo['direction'];
}

export interface SessionStreamParts {
  readonly port: StreamPort;
  readonly who: { readonly session: Session; readonly caller: Caller };
  readonly operations: Operations;
  readonly counters: Counters;
  readonly deadlines: Deadlines;
  readonly limits: StreamLimits;
}

export class SessionStreams {
  readonly #port: StreamPort;
  readonly #who: { readonly session: Session; readonly caller: Caller };
  readonly #operations: Operations;
  readonly #counters: Counters;
  readonly #deadlines: Deadlines;
  readonly #limits: StreamLimits;
  readonly #open = new Map<string, Opened>();
  #last = 0;

  constructor({ port, who, operations, counters, deadlines, limits }: SessionStreamParts) {
    this.#port = port;
    this.#who = who;
    this.#operations = operations;
    this.#counters = counters;
    this.#deadlines = deadlines;
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws STREAM_LIMIT, STREAM_NOT_FOUND and what the gate of streams throws. The stream stays silent until announce(id). */
  async open({ stream: name, params = {}, binary = false, credit }: OpenParams): Promise<OpenResult> {
    const { streams, streamCredit, lineBytes, attachmentBytes } = this.#limits;
    const info = (await this.#operations.streams()).find((one) => one.name === name);
    if (!info) throw new CoreError('STREAM_NOT_FOUND', { stream: name });
    if (this.#open.size >= streams) throw new CoreError('STREAM_LIMIT', { stream: name, limit: streams });
    const stream = new AppStream(this.#port, {
      id: `stream-${++this.#last}`,
      name,
      binary,
      window: streamCredit,
      credit: credit ?? streamCredit,
      piece: Math.min(PIECE, binary ? attachmentBytes : Math.floor(lineBytes / 2)),
    });
    this.#open.set(stream.id, { stream, direction: info.direction });
    const { caller, session } = this.#who;
    const call: Invocation = { caller, session, signal: stream.signal, deadline: Number.POSITIVE_INFINITY };
    try {
      const { done } = await this.#operations.openStream(name, params, stream, call);
      this.#follow(stream, done);
    } catch (thrown) {
      this.#open.delete(stream.id);
      const error = toCoreError(thrown, name);
      stream.end(error);
      throw error;
    }
    return { id: stream.id, credit: streamCredit };
  }

  /** The app has been told of the stream. */
  announce(id: string): void {
    this.#open.get(id)?.stream.announce();
  }

  /** Throws STREAM_NOT_FOUND, PARAMS_INVALID, STREAM_OVERRUN; an overrun ends the stream. */
  write(params: Readonly<Record<string, unknown>>, attachment: Buffer | undefined): object {
    const stream = this.#find(params.id, 'stream.write');
    const bytes = attachment ?? decode(params.data);
    try {
      stream.push(bytes);
    } catch (thrown) {
      const overrun = toCoreError(thrown, stream.name);
      this.#over(stream, overrun);
      throw overrun;
    }
    return {};
  }

  credit(params: Readonly<Record<string, unknown>>): object {
    const { id, bytes } = params;
    if (!Number.isSafeInteger(bytes) || (bytes as number) <= 0)
      throw new CoreError('PARAMS_INVALID', { where: 'params of stream.credit', reason: 'bytes: must be > 0' });
    this.#find(id, 'stream.credit').addCredit(bytes as number);
    return {};
  }

  /** The app writes no more; a stream that it only reads is over. */
  close(id: unknown): void {
    const stream = this.#find(id, 'stream.close');
    const { direction } = this.#open.get(stream.id)!;
    if (!stream.finish()) return;
    if (direction === 'read') this.#over(stream, undefined);
    else this.#linger(stream, stream.held);
  }

  /** A plugin that still takes what was written is at work, however long that is: sound that is played, for example. */
  #linger(stream: AppStream, held: number): void {
    const look = (): void => {
      if (stream.signal.aborted) return;
      if (stream.held < held) this.#linger(stream, stream.held);
      else this.#over(stream, new CoreError('TIMEOUT', { what: `the end of ${stream.name}`, ms: LINGER_MS }));
    };
    this.#deadlines.add(new Later(this.#deadlines.now + LINGER_MS, look));
  }

  /** Nobody will use it: the request that opened it was withdrawn. */
  abandon(id: string): void {
    const stream = this.#find(id, 'cancel');
    stream.announce();
    this.#over(stream, undefined);
  }

  /** The session is gone. */
  closeAll(reason: CoreError): void {
    for (const { stream } of [...this.#open.values()]) stream.end(reason);
    this.#open.clear();
  }

  #find(id: unknown, method: string): AppStream {
    if (typeof id !== 'string')
      throw new CoreError('PARAMS_INVALID', { where: `params of ${method}`, reason: 'id: must be string' });
    const opened = this.#open.get(id);
    if (opened) return opened.stream;
    this.#counters.lateStreamMessages++;
    throw new CoreError('STREAM_NOT_FOUND', { stream: id.slice(0, 64) });
  }

  /** The stream ends with the plugin's work, but not before the app knows of it. */
  #follow(stream: AppStream, done: Promise<void>): void {
    const over = async (error: CoreError | undefined): Promise<void> => {
      await stream.known;
      this.#over(stream, error);
    };
    void done.then(
      () => over(undefined),
      (thrown: unknown) => over(toCoreError(thrown, stream.name)),
    );
  }

  /** Everything that the plugin sent stands before `stream.end`. */
  #over(stream: AppStream, error: CoreError | undefined): void {
    if (!this.#open.delete(stream.id)) return;
    stream.end(error ?? new CoreError('CANCELLED', { what: `stream ${stream.id}`, reason: 'it has ended' }));
    const params = error ? { id: stream.id, error: wireError(error) } : { id: stream.id };
    this.#port.send(notification('stream.end', params));
  }
}

function decode(data: unknown): Buffer {
  const bytes = typeof data === 'string' ? decodeBase64(data) : undefined;
  if (bytes) return bytes;
  throw new CoreError('PARAMS_INVALID', {
    where: 'params of stream.write',
    reason: 'data: must be base64 (RFC 4648, with padding), or the message must have an attachment',
  });
}
