/** Server-sent events: one response per stream, with heartbeats, back-pressure and an end. Source: https://html.spec.whatwg.org/#server-sent-events */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type CoreError, type Scope, type ServerSentEvent, toCoreError } from '@device-core/plugin-api';
import { startEventStream } from './responses.ts';

export class EventStreams {
  /** When each began to wait for its reader; 0 while it does not. */
  readonly #waiting = new Map<ServerResponse, number>();
  readonly #stallMs: number;

  constructor(scope: Scope, heartbeatMs: number, stallMs: number) {
    this.#stallMs = stallMs;
    scope.interval('event stream heartbeats', heartbeatMs, () => this.#beat());
  }

  get size(): number {
    return this.#waiting.size;
  }

  /** Resolves when one side has ended. Takes the next event only when the socket has taken the last. */
  async run(response: ServerResponse, events: AsyncIterable<ServerSentEvent>): Promise<void> {
    startEventStream(response);
    this.#waiting.set(response, 0);
    try {
      for await (const event of events) {
        if (response.destroyed) break;
        if (!response.write(format(event))) await this.#drained(response);
      }
    } catch (thrown) {
      const error = toCoreError(thrown, 'event stream');
      if (!response.destroyed) response.write(format({ event: 'error', data: describe(error) }));
    } finally {
      this.#waiting.delete(response);
      response.end();
    }
  }

  async #drained(response: ServerResponse): Promise<void> {
    this.#waiting.set(response, Date.now());
    const waited = new AbortController();
    const { signal } = waited;
    try {
      await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
    } finally {
      waited.abort();
      this.#waiting.set(response, 0);
    }
  }

  #beat(): void {
    const now = Date.now();
    for (const [response, since] of this.#waiting)
      if (since === 0) response.write(': still here\n\n');
      else if (now - since >= this.#stallMs) response.destroy();
  }
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
