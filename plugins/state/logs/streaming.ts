import { type CallContext, CoreError, callerName, maybe, type Scope } from '@device-core/plugin-api';
import type { JsonSchema, Operation, ServerSentEvent } from '@device-core/plugin-api/services/operations';
import type { LogsConfig } from './configuration.ts';
import { readEntry } from './entry.ts';
import { matcher } from './filter.ts';
import type { LogFiles } from './log-files.ts';
import { LogFollower } from './log-follower.ts';
import { Pace } from './pace.ts';
import { readNewest, SELECTION, type Selection } from './reading.ts';

interface Params extends Selection {
  readonly tail: number;
}

const TAIL: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: 1000,
  default: 0,
  description: 'so many of the lines that are there come first',
};

/** GET /logs/stream: new lines as server-sent events. */
export class LogStreams {
  readonly #files: LogFiles;
  readonly #config: LogsConfig;
  readonly #scope: Scope;
  readonly #open = new Map<string, number>();

  constructor(files: LogFiles, config: LogsConfig, scope: Scope) {
    this.#files = files;
    this.#config = config;
    this.#scope = scope;
  }

  operation(): Operation<Params, ServerSentEvent> {
    return {
      name: 'logs.stream',
      summary: 'stream new lines of the log of the Core, or of an app, as server-sent events',
      description: '`data` is an entry as in logs.read.',
      capability: 'system.logs',
      params: { type: 'object', properties: { ...SELECTION, tail: TAIL } },
      result: { type: 'object', description: 'an entry' },
      rest: { method: 'GET', path: '/logs/stream', sse: true },
      rpc: false,
      errors: ['BUSY', 'APP_NOT_FOUND', 'PARAMS_INVALID'],
      run: (selection, { caller, signal }) => {
        const name = callerName(caller);
        if ((this.#open.get(name) ?? 0) >= this.#config.streams)
          throw new CoreError('BUSY', { what: 'a stream of logs', limit: this.#config.streams });
        matcher(selection); // an expression that is none is refused before the stream begins
        return this.#stream(selection, name, AbortSignal.any([signal, this.#scope.signal]));
      },
    };
  }

  async *#stream(
    { app, tail, ...filter }: Params,
    name: string,
    signal: CallContext['signal'],
  ): AsyncGenerator<ServerSentEvent> {
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    try {
      const matches = matcher(filter);
      const file = await this.#files.of(app);
      await using follower = new LogFollower(file);
      const end = await follower.start();
      if (tail > 0) {
        const { entries } = await readNewest(file, { ...filter, ...maybe({ app }), limit: tail }, this.#config, end);
        for (const entry of entries) yield { data: entry };
      }
      while (!signal.aborted) {
        const lines = await follower.take();
        const pace = new Pace();
        for (const line of lines) {
          const entry = readEntry(line, app);
          if (matches(entry)) yield { data: entry };
          if (signal.aborted) return;
          if (pace.isDue) await pace.rest();
        }
        if (lines.length === 0) await this.#pause(signal);
      }
    } finally {
      const left = (this.#open.get(name) ?? 1) - 1;
      if (left > 0) this.#open.set(name, left);
      else this.#open.delete(name);
    }
  }

  /** Waits for the next look, or the end. */
  async #pause(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _timer = this.#scope.timeout('next look at a log', this.#config.pollMs, resolve);
    const done = () => resolve();
    signal.addEventListener('abort', done);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', done);
    }
  }
}
