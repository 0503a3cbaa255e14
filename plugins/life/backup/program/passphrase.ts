/** The passphrase of a backup: from standard input, or from a file as with `devicectl keys`. */
import { passphraseFrom } from '@device-core/plugin-api/inside/program';
import { usage } from '@device-core/plugin-api/program';

export interface PassphraseArgs {
  /** Standard input, where that is no terminal. */
  readonly passphrase?: string;
  readonly passphraseFile?: string;
}

export const PASSPHRASE = {
  passphrase: { type: 'string', description: 'from standard input' },
  passphraseFile: {
    type: 'string',
    description: 'file whose first line it is, of mode 600; - is standard input',
  },
} as const;

/** Nothing where none was given. Rejects with a usage error. */
export async function passphraseOf({
  passphrase = '',
  passphraseFile: file,
}: PassphraseArgs): Promise<string | undefined> {
  const typed = passphrase.replace(/\r?\n$/, '');
  if (file === undefined) return typed === '' ? undefined : typed;
  if (file === '-') {
    if (typed === '') throw usage('standard input holds no passphrase');
    return typed;
  }
  if (typed !== '') throw usage('a passphrase comes from standard input and another one from --passphrase-file');
  return passphraseFrom(file);
}
