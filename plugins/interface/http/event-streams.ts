/**
 * Server-sent events: one response per stream, with heartbeats, back-pressure and an end. Source:
 * https://html.spec.whatwg.org/#server-sent-events
 */
import type { ServerResponse } from 'node:http';
import { type CoreError, rounds, type Scope, toCoreError } from '@device-core/plugin-api';
import type { ServerSentEvent } from '@device-core/plugin-api/services/operations';
import { startEventStream } from './responses.ts';

export class EventStreams {
  readonly #open = new Set<ServerResponse>();

  readonly #begin: () => void;

  constructor(scope: Scope, heartbeatMs: number) {
    this.#begin = rounds({ scope, label: 'event stream heartbeats', ms: heartbeatMs, run: () => this.#beat() });
  }

  get size(): number {
    return this.#open.size;
  }

  /** Resolves when one side has ended. Takes the next event only when the socket has taken the last. */
  async run(response: ServerResponse, events: AsyncIterable<ServerSentEvent>): Promise<void> {
    startEventStream(response);
    this.#open.add(response);
    this.#begin();
    try {
      for await (const event of events) {
        if (response.destroyed) break;
        if (!send(response, event)) await drained(response);
      }
    } catch (thrown) {
      const error = toCoreError(thrown, 'event stream');
      if (!response.destroyed) response.write(format({ event: 'error', data: describe(error) }));
    } finally {
      this.#open.delete(response);
      response.end();
    }
  }

  #beat(): boolean {
    for (const response of this.#open) if (response.writableLength === 0) response.write(': still here\n\n');
    return this.#open.size > 0;
  }
}

/**
 * One write to the socket: what an event looks like on the wire is the same on every stream that it goes to. The
 * response itself would write the length of the chunk, the event and its end for themselves. False when the reader is
 * behind.
 */
function send(response: ServerResponse, event: ServerSentEvent): boolean {
  const { socket } = response;
  // HTTP/1.0 has no chunks.
  if (!socket || !response.chunkedEncoding) return response.write(format(event));
  return socket.write(bytesOf(event));
}

/** Encoded events that go to many streams: frozen, so that they do not change between two streams. */
const sent = new WeakMap<ServerSentEvent, Buffer>();

function bytesOf(event: ServerSentEvent): Buffer {
  const known = sent.get(event);
  if (known) return known;
  const text = format(event);
  const bytes = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  if (Object.isFrozen(event)) sent.set(event, bytes);
  return bytes;
}

/** The reader took what there was, or its connection is closed: one that takes nothing is cut by the check of connections. */
async function drained(response: ServerResponse): Promise<void> {
  const source = response.chunkedEncoding ? response.socket : response;
  if (!source || response.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  source.once('drain', resolve);
  response.once('close', resolve);
  await promise;
  source.off('drain', resolve);
  response.off('close', resolve);
}

function describe(error: CoreError): object {
  return { error: error.toWire(), code: error.code };
}

/** JSON has no line breaks of its own, so that one data line is enough. */
function format({ event, id, data }: ServerSentEvent): string {
  return `${event === undefined ? '' : `event: ${oneLine(event)}\n`}${id === undefined ? '' : `id: ${oneLine(id)}\n`}data: ${JSON.stringify(data)}\n\n`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, ' ');
}
