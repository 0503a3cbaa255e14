import { CoreClient } from './client.ts';
import type { Globals } from './globals.ts';
import { Output, type Terminal } from './output.ts';
import { Target } from './target.ts';

/** Tools of a running command. */
export interface Session {
  readonly target: Target;
  readonly client: CoreClient;
  readonly out: Output;
  /** The Core is reached over its Unix socket, on this machine. */
  readonly overSocket: boolean;
}

export function openSession(globals: Globals, stdout?: Terminal): Session {
  const target = new Target(globals);
  const out = new Output(globals.json === true, stdout);
  return { target, client: new CoreClient(target), out, overSocket: target.url === undefined && !target.device };
}
