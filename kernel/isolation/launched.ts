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
  /** Ends it; where there is a reason, those that share its worker, too. `all`: nobody knows which of them is to blame. */
  kill(reason?: string, blame?: Blame): Promise<void>;
}

/** Why a plugin is not there any more, for whoever waits for it. */
export function crash(plugin: string, reason: string, cause?: unknown): CoreError {
  return new CoreError('UNAVAILABLE', { what: `plugin ${plugin}`, reason }, { cause });
}

/** The same of a plugin that shared its worker with the one to blame: it starts again at once, and nobody counts it as a crash of its own. */
export class EndedWith extends CoreError {
  constructor(plugin: string, culprit: string, reason: string) {
    super('UNAVAILABLE', { what: `plugin ${plugin}`, reason: `its worker ended with plugin ${culprit}: ${reason}` });
  }
}
