import { Command, CommanderError } from 'commander';
import type { GlobalOptions } from './cli.ts';
import { addApps } from './commands/apps.ts';
import { addBuses } from './commands/buses.ts';
import { addCompletion } from './commands/completion.ts';
import { addConfig } from './commands/config.ts';
import { addEvents } from './commands/events.ts';
import { addFunctions } from './commands/functions.ts';
import { addIntents } from './commands/intents.ts';
import { addLogs } from './commands/logs.ts';
import { addNfc } from './commands/nfc.ts';
import { addOpenapi } from './commands/openapi.ts';
import { addPlugin } from './commands/plugin.ts';
import { addSensors } from './commands/sensors.ts';
import { addSpi } from './commands/spi.ts';
import { addStatus } from './commands/status.ts';
import { addToken } from './commands/token.ts';
import { addTop } from './commands/top.ts';
import { addVoice } from './commands/voice.ts';
import { addWhy } from './commands/why.ts';
import { EXIT, type ExitCode, Failure } from './failure.ts';
import { cell, Output } from './output.ts';

const EPILOGUE = `
Exit codes: 0 done, 1 the Core answered with an error, 2 wrong usage, 3 the Core cannot be reached.
On the Unix socket the user of the Core and root are the operator; over --url the operator's token file is used.`;

/** The whole command line. Options of the program are understood before and after the command. */
export function createProgram(): Command {
  const program = new Command('devicectl')
    .description('Look at and administer a Device Core through its public interface.')
    .option('--json', "print the Core's answer as it is, as JSON")
    .option('--root <dir>', 'root of a development Core (default: .device here, or in the checkout)')
    .option('--run <dir>', "directory of the Core's sockets and tokens (default: <root>/run)")
    .option('--socket <file>', 'shared Unix socket (default: <run>/core.sock)')
    .option('--url <address>', 'talk over TCP instead, for example http://127.0.0.1:55280')
    .option('--token-file <file>', 'file of the token to send (default over TCP: <run>/operator.token)')
    .addHelpText('after', EPILOGUE)
    .showHelpAfterError('  run devicectl --help for what there is')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'devicectl: USAGE: ')) })
    .exitOverride();
  addStatus(program);
  addFunctions(program);
  addEvents(program);
  addConfig(program);
  addApps(program);
  addPlugin(program);
  addTop(program);
  addSpi(program);
  addBuses(program);
  addSensors(program);
  addNfc(program);
  addIntents(program);
  addVoice(program);
  addToken(program);
  addLogs(program);
  addWhy(program);
  addOpenapi(program);
  addCompletion(program);
  return program;
}

/** Resolves with the exit code; never rejects for a Failure. */
export async function main(argv: readonly string[]): Promise<ExitCode> {
  const program = createProgram();
  try {
    await program.parseAsync(argv, { from: 'user' });
    return (process.exitCode ?? EXIT.ok) as ExitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (!(error instanceof Failure)) throw error;
    if (program.opts<GlobalOptions>().json && error.exit !== EXIT.usage) await new Output(true).line(error.body);
    process.stderr.write(`devicectl: ${cell(`${error.code}: ${error.message}`)}\n`);
    if (error.hint !== undefined) process.stderr.write(`  ${cell(error.hint)}\n`);
    return error.exit;
  }
}
