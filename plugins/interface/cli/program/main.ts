import { cell, EXIT, type ExitCode, Failure, type Program, usage } from '@device-core/plugin-api/program';
import type { Found, ProgramCommand } from './commands.ts';
import { takeGlobals } from './globals.ts';
import { allCommands, findCommand } from './lookup.ts';
import { runOperation } from './operation.ts';
import { Output, type Terminal } from './output.ts';
import { parseWords } from './parse.ts';
import { loadProgram } from './programs.ts';
import { openSession, type Session } from './session.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Outputs of the program: those of the process, or of a test. */
export interface Streams {
  readonly stdout: Terminal;
  readonly stderr: Terminal;
}

/** Resolves with the exit code; never rejects for a Failure. */
export async function main(argv: readonly string[], streams: Streams = process): Promise<ExitCode> {
  let json = false;
  try {
    if (argv.includes('__complete')) return await completeWords(argv, new Output(false, streams.stdout));
    const { globals, rest } = takeGlobals(argv);
    json = globals.json === true;
    const words = rest[0] === 'help' ? rest.slice(1) : rest;
    const session = openSession(globals, streams.stdout);
    using _target = session.target;
    if (words[0] === 'completion') return await completionScript(session, words.slice(1), globals.help === true);
    if (globals.help || rest[0] === 'help' || words.length === 0) {
      await help(session, leading(words));
      return rest.length === 0 && !globals.help ? EXIT.usage : EXIT.ok;
    }
    return await run(session, words);
  } catch (thrown) {
    const error = failureOf(thrown);
    if (error === undefined) throw thrown;
    if (json && error.exit !== EXIT.usage) await new Output(true, streams.stdout).line(error.body);
    const told = new Output(false, streams.stderr);
    await told.line(`devicectl: ${cell(`${error.code}: ${error.message}`)}`);
    if (error.hint !== undefined) await told.line(`  ${cell(error.hint)}`);
    return error.exit;
  }
}

/**
 * Failures that the user sees as one line: a Failure, a code of the table, a file that the system refuses. All else
 * is a defect of ours, and has its stack. Classes are compared by name: a plugin from outside may bring another copy
 * of plugin-api.
 */
function failureOf(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof Failure || (error.name === 'Failure' && 'exit' in error)) return error as Failure;
  const { name, message, code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || (name !== 'CoreError' && syscall === undefined)) return undefined;
  return new Failure(EXIT.answered, code, message.replace(`${code}: `, ''));
}

/** The words before the first option. */
function leading(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => word.startsWith('-'));
  return end < 0 ? words : words.slice(0, end);
}

async function run(session: Session, words: readonly string[]): Promise<ExitCode> {
  const names = leading(words);
  if (names.length === 0) throw usage('a command comes before its options', 'see: devicectl --help');
  const { command, used }: Found = await findCommand(session.client, names);
  const rest = words.slice(used);
  if (command.kind === 'program') return runProgram(session, command, rest);
  await runOperation(command, rest, session.client, session.out);
  return EXIT.ok;
}

async function runProgram(session: Session, { place }: ProgramCommand, words: readonly string[]): Promise<ExitCode> {
  const { target, client, out, overSocket } = session;
  const program: Program = await loadProgram(place, overSocket);
  const { programShape } = await import('./help.ts');
  const { parameters } = programShape(program);
  const { params } = await parseWords(words, parameters, { stdin: program.cli?.stdin, defaults: true });
  const stop = new AbortController();
  const end = () => stop.abort(new Failure(EXIT.answered, 'CANCELLED', 'it was ended before it was over'));
  for (const signal of SIGNALS) process.once(signal, end);
  try {
    return (await program.run({ args: params, client, target, out, signal: stop.signal })) ?? EXIT.ok;
  } catch (error) {
    // Functions of Node say in words of their own that they were ended.
    throw stop.signal.aborted && (error as Error).name === 'AbortError' ? stop.signal.reason : error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}

async function help(session: Session, words: readonly string[]): Promise<void> {
  const { commandHelp, nounHelp, overview } = await import('./help.ts');
  const { commands, unreachable } = await allCommands(session.client);
  const note = unreachable && `No Core is reached at ${session.target.name}: its operations are not listed.`;
  if (words.length === 0) return session.out.line(overview(commands, note));
  const found = commands.find(words);
  const below = commands.below(words);
  const listed = found && found.command.path.length > words.length;
  if (below.length > 0 && (!found || listed)) return session.out.line(nounHelp(words, below));
  if (!found) throw unreachable ?? usage(`there is no command ${words.join(' ')}`, 'see: devicectl --help');
  const { command } = found;
  const program = command.kind === 'program' ? await loadProgram(command.place, session.overSocket) : undefined;
  await session.out.line(commandHelp(command, program));
}

async function completionScript(session: Session, [shell]: readonly string[], help: boolean): Promise<ExitCode> {
  const { SHELLS } = await import('./shells.ts');
  const there = Object.keys(SHELLS).join(', ');
  if (help) {
    await session.out.line(`Usage: devicectl completion <shell>\n\nprints a completion script for ${there}`);
    return EXIT.ok;
  }
  if (shell === undefined || !Object.hasOwn(SHELLS, shell)) throw usage(`completion needs one of ${there}`);
  await session.out.line(SHELLS[shell as keyof typeof SHELLS]);
  return EXIT.ok;
}

/** `__complete -- words`: candidates for the last word, one a line. */
async function completeWords(argv: readonly string[], out: Output): Promise<ExitCode> {
  const { candidates } = await import('./completion.ts');
  const at = argv.indexOf('__complete');
  const before = takeGlobals(argv.slice(0, at)).globals;
  const words = argv.slice(at + 1);
  for (const candidate of await candidates(words[0] === '--' ? words.slice(1) : words, before))
    await out.line(candidate);
  return EXIT.ok;
}
