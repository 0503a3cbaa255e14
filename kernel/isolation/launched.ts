import type { Readable } from 'node:stream';
import { CoreError } from '@device-core/plugin-api';
import type { Port } from './remote/index.ts';

export type Blame = 'it' | 'all';

/** A worker or process that was started. */
export interface Launched {
  readonly port: Port;
  /** Process id of the plugin itself; undefined for a worker, before it has begun and after its end. */
  program(): number | undefined;
  readonly output: readonly Readable[];
  /** The limit of its heap, or of the one that it shares. */
  readonly heapMB: number;
  /** Bytes that it holds, asked without its help; undefined when it has just ended. */
  memory(): Promise<number | undefined>;
  /** Resolves when it has ended, with what can be said of it. */
  readonly exited: Promise<CoreError>;
  /** Ends it; with a reason, the plugins that share its worker, too. `all`: the culprit is unknown. */
  kill(reason?: string, blame?: Blame): Promise<void>;
}

/** Error for callers that wait for a plugin that has ended. */
export function crash(plugin: string, reason: string, cause?: unknown): CoreError {
  return new CoreError('UNAVAILABLE', { what: `plugin ${plugin}`, reason }, { cause });
}

/** The first end that is told counts. */
export function crashOnce(plugin: string) {
  const { promise: exited, resolve } = Promise.withResolvers<CoreError>();
  return { exited, ended: (reason: string, cause?: unknown) => resolve(crash(plugin, reason, cause)) };
}

/** The same for a plugin that shared its worker with the culprit: it starts again at once, and no crash is counted. */
export class EndedWith extends CoreError {
  constructor(plugin: string, culprit: string, reason: string) {
    super('UNAVAILABLE', { what: `plugin ${plugin}`, reason: `its worker ended with plugin ${culprit}: ${reason}` });
  }
}
