/** A passphrase comes from a file, from standard input, or from the person at the terminal. */
import { passphraseFrom } from '@device-core/plugin-api/inside/program';
import { usage } from '@device-core/plugin-api/program';

const ENTER = new Set(['\r', '\n']);
/** Ctrl-C, Ctrl-D. */
const LEAVE = new Set(['\u0003', '\u0004']);
const RUBOUT = new Set(['\u007f', '\b']);

/** Typed without an echo. Throws a usage error where nobody sits there. */
export function typedPassphrase(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (!stdin.isTTY)
    throw usage(
      'there is no terminal to ask for the passphrase',
      'name a file: --passphrase-file FILE, or - for standard input',
    );
  stderr.write(question);
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    let text = '';
    const end = (settle: () => void): void => {
      stdin.off('data', take);
      stdin.setRawMode(false);
      stdin.pause();
      stderr.write('\n');
      settle();
    };
    const take = (typed: string): void => {
      for (const letter of typed) {
        if (ENTER.has(letter)) end(() => resolve(text));
        else if (LEAVE.has(letter)) end(() => reject(usage('no passphrase was typed')));
        else text = RUBOUT.has(letter) ? text.slice(0, -1) : text + letter;
        if (ENTER.has(letter) || LEAVE.has(letter)) return;
      }
    };
    stdin.on('data', take);
    stdin.resume();
  });
}

/** Twice the same, and long enough to be worth something. */
export async function newPassphrase(file: string | undefined): Promise<string> {
  const words = file === undefined ? await typedPassphrase('passphrase of the new keys: ') : await passphraseFrom(file);
  if (words.length < 12) throw usage('a passphrase has 12 characters at least');
  if (file === undefined && (await typedPassphrase('once more: ')) !== words) throw usage('these were two passphrases');
  return words;
}
