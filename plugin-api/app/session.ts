/** One connection of an app from READY to its end: calls both ways, notifications, streams. */

import type { CallMeta, ReadyMessage } from '../contract/app-messages.ts';
import { LazyAbort } from '../kits/lazy-abort.ts';
import { ClientStream, type StreamPort } from './client-stream.ts';
import { Connection, type Message } from './connection.ts';
import { RpcError, sessionClosed } from './rpc-error.ts';

export interface CallOptions {
  /** Withdraws the call. */
  readonly signal?: AbortSignal;
  /** The Core answers TIMEOUT after it; the operation's own limit if absent. */
  readonly timeoutMs?: number;
  /** `meta.traceparent` of a call that the app is working on: what it asks for is then a part of the same trace. */
  readonly traceparent?: string | undefined;
}

export interface SessionHandlers {
  ready(ready: ReadyMessage): void;
  /** A call of the Core: resolves with the result. */
  called(
    method: string,
    inputs: object,
    call: { readonly meta: CallMeta; readonly signal: AbortSignal },
  ): Promise<unknown>;
  notified(method: string, params: Record<string, unknown>): void;
  closed(reason: string): void;
}

interface Pending {
  /** Sees the result in the turn in which it came. */
  readonly read: ((result: unknown) => unknown) | undefined;
  resolve(result: unknown): void;
  reject(error: RpcError): void;
}

const DEFAULT_CREDIT = 256 * 1024;

export class ClientSession implements StreamPort {
  readonly #handlers: SessionHandlers;
  readonly #connection: Connection;
  readonly #pending = new Map<number, Pending>();
  readonly #streams = new Map<string, ClientStream>();
  /** Calls of the Core that are being worked on, by callId. */
  readonly #serving = new Map<string, LazyAbort>();
  #last = 0;
  #closed: string | undefined;

  constructor(path: string, handlers: SessionHandlers) {
    this.#handlers = handlers;
    this.#connection = new Connection(
      path,
      (message, attachment) => this.#take(message, attachment),
      (reason) => this.#close(reason),
    );
  }

  call(method: string, params: object = {}, options: CallOptions = {}): Promise<unknown> {
    return this.#call(method, params, options, undefined);
  }

  async openStream(
    stream: string,
    params: object = {},
    { binary = true, credit = DEFAULT_CREDIT }: { readonly binary?: boolean; readonly credit?: number } = {},
  ): Promise<ClientStream> {
    // Data may come in the same read as the answer that names the stream.
    const opened = (result: unknown): ClientStream => {
      const answer = result as { readonly id: string; readonly credit: number };
      const made = new ClientStream(this, answer.id, answer.credit, credit);
      this.#streams.set(answer.id, made);
      return made;
    };
    return (await this.#call('stream.open', { stream, params, binary, credit }, {}, opened)) as ClientStream;
  }

  send(message: object, attachment?: Uint8Array): void {
    if (this.#closed === undefined) this.#connection.send(message, attachment);
  }

  forget(id: string): void {
    this.#streams.delete(id);
  }

  end(): void {
    this.#connection.end();
  }

  async #call(method: string, params: object, options: CallOptions, read: Pending['read']): Promise<unknown> {
    const { signal, timeoutMs, traceparent } = options;
    signal?.throwIfAborted();
    if (this.#closed !== undefined) throw sessionClosed(this.#closed);
    const id = ++this.#last;
    const request = { jsonrpc: '2.0', id, method, params };
    const plain = timeoutMs === undefined && traceparent === undefined;
    const message = plain ? request : { ...request, meta: { deadlineMs: timeoutMs, traceparent } };
    const cancel = () => this.send({ jsonrpc: '2.0', method: 'cancel', params: { id } });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject, read });
    signal?.addEventListener('abort', cancel, { once: true });
    this.send(message);
    if (!signal) return promise;
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  #take(message: Message, attachment: Buffer | undefined): void {
    const { id, method, params = {} } = message;
    if (method === undefined) this.#settle(message);
    // Liveness of the app: only the Core asks for it.
    else if (method === 'ping' && id !== undefined) this.send({ jsonrpc: '2.0', id, result: {} });
    else if (id !== undefined && id !== null) void this.#serve(message);
    else if (method === 'READY') this.#handlers.ready(params as unknown as ReadyMessage);
    else if (method === 'cancel') this.#serving.get(String(params.callId))?.abort(withdrawn());
    else if (method.startsWith('stream.')) this.#streams.get(String(params.id))?.take(message, attachment);
    else this.#handlers.notified(method, params);
  }

  #settle({ id, result, error }: Message): void {
    const pending = this.#pending.get(id as number);
    this.#pending.delete(id as number);
    if (error) pending?.reject(RpcError.from(error));
    else pending?.resolve(pending.read ? pending.read(result) : result);
  }

  async #serve({ id, method = '', params = {}, meta }: Message): Promise<void> {
    const given = (meta ?? { callId: String(id) }) as CallMeta;
    const abort = new LazyAbort();
    this.#serving.set(given.callId, abort);
    // Most functions have answered before anybody could withdraw the call.
    const call = {
      meta: given,
      get signal() {
        return abort.signal;
      },
    };
    try {
      const result = await this.#handlers.called(method, params, call);
      this.send({ jsonrpc: '2.0', id, result: result ?? {} });
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      const code = thrown instanceof RpcError ? thrown.rpcCode : -32000;
      this.send({ jsonrpc: '2.0', id, error: { code, message } });
    } finally {
      this.#serving.delete(given.callId);
    }
  }

  #close(reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    const error = sessionClosed(reason);
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    for (const abort of this.#serving.values()) abort.abort(error);
    for (const stream of [...this.#streams.values()]) stream.end(error);
    this.#handlers.closed(reason);
  }
}

/** Default reason of AbortController.abort(). */
function withdrawn(): DOMException {
  return new DOMException('This operation was aborted', 'AbortError');
}
