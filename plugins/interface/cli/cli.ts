import type { Command } from 'commander';
import { CoreClient } from './client.ts';
import type { ExitCode } from './failure.ts';
import { Output } from './output.ts';
import { Target, type TargetOptions } from './target.ts';

export interface GlobalOptions extends TargetOptions {
  readonly json?: boolean;
}

/** What a command works with. */
export interface Cli {
  readonly target: Target;
  readonly client: CoreClient;
  readonly out: Output;
}

export function openCli(options: GlobalOptions): Cli {
  const target = new Target(options);
  return { target, client: new CoreClient(target), out: new Output(options.json === true) };
}

/**
 * Turns a function into the action of a command; what it resolves with is the exit code. It is given the options of its own command only: those of the
 * program are in the `Cli`, where none of them can get into a request.
 */
export function action<A extends readonly unknown[], O extends object = object>(
  work: (cli: Cli, args: A, options: O) => Promise<ExitCode | undefined | void>,
): (...all: unknown[]) => Promise<void> {
  return async (...all) => {
    const command = all.at(-1) as Command;
    const cli = openCli(command.optsWithGlobals<GlobalOptions>());
    const code = await work(cli, command.processedArgs as unknown as A, command.opts<O>());
    if (code) process.exitCode = code;
  };
}
