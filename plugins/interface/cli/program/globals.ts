/** Options of devicectl itself. They are understood before and after the command, and are no part of what the Core is asked. */
import { usage } from '@device-core/plugin-api/program';
import type { TargetOptions } from './target.ts';

export interface Globals extends TargetOptions {
  readonly json?: boolean;
  readonly help?: boolean;
}

interface GlobalOption {
  readonly flag: string;
  readonly short?: string;
  readonly key: keyof Globals;
  /** How its value is called in help; absent: a switch. */
  readonly value?: string;
  readonly summary: string;
}

export const GLOBALS: readonly GlobalOption[] = [
  { flag: '--json', key: 'json', summary: "print the Core's answer as it is, as JSON" },
  {
    flag: '--root',
    key: 'root',
    value: 'dir',
    summary: 'root of a development Core (default: .device here, or in the checkout)',
  },
  {
    flag: '--run',
    key: 'run',
    value: 'dir',
    summary: "directory of the Core's sockets and tokens (default: <root>/run)",
  },
  { flag: '--socket', key: 'socket', value: 'file', summary: 'shared Unix socket (default: <run>/core.sock)' },
  {
    flag: '--device',
    key: 'device',
    value: 'address',
    summary: 'the Core of another machine, by ssh: ssh://[user@]host[:port][/run/folder]',
  },
  {
    flag: '--url',
    key: 'url',
    value: 'address',
    summary: 'talk over TCP instead, for example http://127.0.0.1:55280',
  },
  {
    flag: '--token-file',
    key: 'tokenFile',
    value: 'file',
    summary: 'file of the token to send (default over TCP: <run>/operator.token)',
  },
  { flag: '--help', short: '-h', key: 'help', summary: 'options and words of a command' },
];

const LAUNCHED = '--launched';

/** Names without dashes: no param of a command has one of them for its flag. */
export const RESERVED: ReadonlySet<string> = new Set(
  GLOBALS.flatMap(({ flag, short }) => [flag.slice(2), ...(short ? [short.slice(1)] : [])]),
);

export function globalOption(word: string): GlobalOption | undefined {
  const name = word.split('=', 1)[0]!;
  return GLOBALS.find(({ flag, short }) => name === flag || name === short);
}

/** Takes them out of the words; behind `--` there are none. */
export function takeGlobals(words: readonly string[]): { readonly globals: Globals; readonly rest: readonly string[] } {
  const globals: Record<string, string | boolean | TargetOptions['launched']> = {};
  const rest: string[] = [];
  // The first words of the launcher, which people do not write.
  const preset = words[0] === LAUNCHED ? 3 : 0;
  if (preset > 0) globals.launched = { run: words[1] ?? '', socket: words[2] ?? '' };
  for (let at = preset; at < words.length; at += 1) {
    const word = words[at]!;
    if (word === '--') {
      rest.push(...words.slice(at));
      break;
    }
    const option = globalOption(word);
    if (!option) rest.push(word);
    else if (option.value === undefined) globals[option.key] = true;
    else {
      const equals = word.indexOf('=');
      const value = equals < 0 ? words[++at] : word.slice(equals + 1);
      if (value === undefined) throw usage(`${option.flag} needs a value: <${option.value}>`);
      globals[option.key] = value;
    }
  }
  return { globals, rest };
}
