/**
 * Programs of devicectl: commands that do more than one operation. A plugin names them in its manifest (`programs`),
 * devicectl finds them there and loads the module in its own process, as the user who typed the command. A program is a
 * client of the public interface like any other.
 */

import type { JsonSchema } from '../../contract/json-schema.ts';
import type { CliView } from '../../services/operations.ts';
import type { ProgramClient } from './client.ts';
import type { ExitCode } from './failure.ts';

export type { ProgramAnswer, ProgramClient, ProgramRequest, ProgramStreamItem } from './client.ts';
export { EXIT, type ExitCode, Failure, usage } from './failure.ts';
export { cell, duration, quoted, timeOf } from './text.ts';

/** The Core that is meant, and where its secrets lie. */
export interface ProgramTarget {
  /** As messages name it, `unix:/run/device/core.sock`. */
  readonly name: string;
  /** Directory of its sockets and tokens. */
  readonly run: string;
  /** Value of `--root`, if it was given: for a program that needs no Core it is the folder that it works on. */
  readonly root?: string;
  operatorToken(): string;
  /** Token of the running app with this name. */
  appToken(name: string): string;
}

/** A cell of a table. Numbers stand at the right, a state has its colour, control characters do not reach the terminal. */
export type ProgramCell = string | number;
export type ProgramColour = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

export interface ProgramOutput {
  /** `--json` was given: print the answer as it is. */
  readonly json: boolean;
  /** Standard output is a terminal. */
  readonly terminal: boolean;
  /** Resolves when the text is on its way, so that a slow reader slows the program down. */
  line(text: string): Promise<void>;
  /** Columns that fit the terminal; `empty` is the line instead of no rows. */
  table(
    headers: readonly string[],
    rows: readonly (readonly ProgramCell[])[],
    options?: { readonly empty?: string; readonly most?: number },
  ): Promise<void>;
  /** The word in the colour of this state; `shown` instead of the word itself. */
  state(word: string, shown?: string): string;
  paint(colour: ProgramColour, text: string): string;
}

export interface ProgramContext<A = Readonly<Record<string, unknown>>> {
  /** Arguments by the schema of the program; defaults are filled in. */
  readonly args: A;
  readonly client: ProgramClient;
  readonly target: ProgramTarget;
  readonly out: ProgramOutput;
  /** Aborted by Ctrl-C and SIGTERM: end in good order. */
  readonly signal: AbortSignal;
}

/** Export `program` of the module of a program. */
export interface Program<A = Readonly<Record<string, unknown>>> {
  readonly description?: string;
  /** Parameters, as the params of an operation: flags, places, completion and help are made from them. Absent: none. */
  readonly params?: JsonSchema;
  readonly cli?: Pick<CliView, 'fixed' | 'flags' | 'hide' | 'stdin'>;
  /** Values for a param, while its word is being typed; `args` is what stands before it. May reject: then there are none. */
  complete?(param: string, context: Pick<ProgramContext<Partial<A>>, 'args' | 'client'>): Promise<readonly string[]>;
  /** Resolves with the exit code; 0 if absent. */
  run(context: ProgramContext<A>): Promise<ExitCode | undefined | void>;
}

/** `export const program = defineProgram<Args>({ ... })`. */
export function defineProgram<A = Readonly<Record<string, unknown>>>(program: Program<A>): Program<A> {
  return program;
}
