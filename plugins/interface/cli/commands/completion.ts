import { Argument, type Command } from 'commander';
import { action, openCli } from '../cli.ts';
import { candidates } from '../completion.ts';
import { EXIT } from '../failure.ts';
import { SHELLS } from '../shells.ts';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a completion script, for example: eval "$(devicectl completion bash)"')
    .addArgument(new Argument('<shell>').choices(Object.keys(SHELLS)))
    .action(
      action<[keyof typeof SHELLS]>(async ({ out }, [shell]) => {
        await out.line(SHELLS[shell]);
      }),
    );
  program
    .command('__complete [words...]', { hidden: true })
    .description('candidates for the last word, one a line')
    .action(async (words: string[], _options: object, command: Command) => {
      for (const candidate of await candidates(program, words, openCli(command.optsWithGlobals())))
        process.stdout.write(`${candidate}\n`);
      process.exitCode = EXIT.ok;
    });
}
