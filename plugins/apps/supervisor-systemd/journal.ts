import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Clock, CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { OutputLine } from '@device-core/plugin-api/inside/services/app-supervisor';
import { FIELDS, type JournalLine, journalReader } from './journal-line.ts';

export interface JournalOptions {
  /** Unit of the Core itself. */
  readonly core: string;
  /** Folder of the journal's sockets: `/run/systemd/journal`. */
  readonly sockets: string;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly log: Logger;
}

const READ_MS = 10_000;
const MOST_LINES = 10_000;
/** Entries, and seconds, before the first one that is asked for: a secret that begins in them may go on behind. */
const BEFORE = 64;
const BEFORE_S = 2;
/** Messages of systemd: a unit ended in peace, a unit failed (systemd.journal-fields, sd-messages.h). */
const ENDS = ['7ad2d189f7e94e70a38c781354912448', 'd9b373ed55a64feb8242e02dbe79a49c'];
const PRIORITY: Readonly<Record<OutputLine['level'], number>> = { debug: 7, info: 6, warn: 4, error: 3 };

/** Lines of one start of a unit, or of the unit in a span of time: milliseconds since the Unix epoch. */
export type JournalPart =
  | { readonly invocation: string }
  | { readonly since: number; readonly until: number | undefined };

/** The journal of systemd: read on demand, and followed only while there is a listener. */
export class Journal {
  readonly #options: JournalOptions;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** The newest lines, the oldest of them first; of a part of the unit's alone where it is named. */
  async lines(name: string, most: number, part?: JournalPart): Promise<readonly JournalLine[]> {
    const count = Math.min(most, MOST_LINES);
    return this.#options.scope.within(`the journal of ${name}`, READ_MS, async (signal) => {
      const child = this.#spawn(
        name,
        ['-n', String(count + BEFORE), ...(part ? matches(part) : [])],
        part !== undefined,
      );
      signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
      const closed = once(child, 'close');
      const lines: JournalLine[] = [];
      const read = journalReader(`${name}.service`);
      for await (const said of createInterface(child.stdout)) {
        const line = read(said);
        if (line) lines.push(line);
      }
      await closed;
      return lines.slice(Math.max(0, lines.length - count));
    });
  }

  /** Whether systemd's own word of the end of this start is there: what the guest wrote came before it. */
  async closed(name: string, invocation: string): Promise<boolean> {
    return this.#options.scope.within(`the end of ${name} in the journal`, READ_MS, async (signal) => {
      const ends = ENDS.map((id) => `MESSAGE_ID=${id}`);
      const words = ['-o', 'json', '-q', '-n', '1', `UNIT=${name}.service`, `INVOCATION_ID=${invocation}`, ...ends];
      const child = spawn('journalctl', words, { stdio: ['ignore', 'pipe', 'ignore'] });
      signal.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
      return (await text(child.stdout)) !== '';
    });
  }

  /** Calls back with each line from now on. */
  follow(name: string, listener: (line: JournalLine) => void): Disposable {
    const { clock, log } = this.#options;
    const since = clock.now();
    const child = this.#spawn(name, ['-f', '-n', 'all', '--since', `@${Math.floor(since / 1_000) - BEFORE_S}`]);
    const read = journalReader(`${name}.service`);
    createInterface(child.stdout).on('line', (said) => {
      const line = read(said);
      if (line && line.line.at >= since) listener(line);
    });
    child.on('error', (error) => log.warn({ guest: name, reason: reasonOf(error) }, 'cannot follow the journal'));
    return { [Symbol.dispose]: () => void child.kill('SIGKILL') };
  }

  /** A line of the guest's owner; it has the name of the guest, and is known by the unit that wrote it. */
  async write(
    name: string,
    { level, text: msg, fields }: Pick<OutputLine, 'level' | 'text' | 'fields'>,
  ): Promise<void> {
    const { scope, sockets } = this.#options;
    const line = JSON.stringify({ level, msg, ...fields });
    await scope.within(`a line for ${name}`, READ_MS, async (signal) => {
      const socket = connect({ path: `${sockets}/stdout`, signal });
      const closed = once(socket, 'close');
      // sd_journal_stream_fd(3): identifier, unit, priority, prefixes, syslog, kmsg, console.
      socket.end(`${name}\n\n${PRIORITY[level]}\n0\n0\n0\n0\n${line}\n`);
      socket.resume();
      await closed;
    });
  }

  /** `only`: nothing of its owner. */
  #spawn(name: string, args: readonly string[], only = false): ChildProcessByStdio<null, Readable, null> {
    const words = ['-o', 'json', '--no-pager', '-q', '-a', `--output-fields=${FIELDS.join(',')}`, ...args];
    const [own, owners] = [
      `_SYSTEMD_UNIT=${name}.service`,
      [`SYSLOG_IDENTIFIER=${name}`, `_SYSTEMD_UNIT=${this.#options.core}`],
    ];
    const child = spawn('journalctl', [...words, own, ...(only ? [] : ['+', ...owners])], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    if (child.pid === undefined) child.once('error', () => undefined);
    if (!child.stdout)
      throw new CoreError('UNAVAILABLE', { what: 'the journal', reason: 'journalctl could not be started' });
    return child;
  }
}

function matches(part: JournalPart): readonly string[] {
  if ('invocation' in part) return [`_SYSTEMD_INVOCATION_ID=${part.invocation}`];
  const until = part.until === undefined ? [] : ['--until', secondsOf(part.until)];
  return ['--since', secondsOf(part.since), ...until];
}

const secondsOf = (ms: number): string => `@${(ms / 1_000).toFixed(3)}`;
