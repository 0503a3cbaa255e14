import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { foreignKey, type KeyPlace, type NewKey, newKey } from './key-files.ts';
import { newPassphrase } from './passphrase.ts';
import { dayOf } from './signer.ts';

interface Args {
  readonly folder: string;
  readonly names: readonly string[];
  readonly passphraseFile?: string;
  readonly unprotected?: boolean;
  readonly notAfter?: string;
  readonly signer?: string;
  readonly public?: string;
}

/** `devicectl keys new` */
export const program = defineProgram<Args>({
  description:
    'Makes Ed25519 keys: NAME.key for you alone, NAME.pub for everybody. With --signer the key lies elsewhere, and the command signs with it.',
  params: {
    type: 'object',
    required: ['folder', 'names'],
    properties: {
      folder: { type: 'string', description: 'where they are written, outside of any git tree' },
      names: { type: 'array', items: { type: 'string' }, minItems: 1, description: 'of the keys' },
      passphraseFile: {
        type: 'string',
        description: 'file whose first line seals them, - is standard input (default: the terminal is asked)',
      },
      unprotected: { type: 'boolean', description: 'write them unsealed, for a machine that is locked itself' },
      notAfter: { type: 'string', description: 'day on which they end, 2028-12-31' },
      signer: { type: 'string', description: 'command that signs: message on stdin, signature on stdout' },
      public: { type: 'string', description: 'PEM file of the public key behind --signer' },
    },
  },
  cli: { fixed: ['folder', 'names'] },
  async run({ out, args }) {
    const made: KeyPlace[] = [];
    for (const make of await makers(args)) made.push(await make());
    if (out.json)
      return out.line(JSON.stringify({ ok: true, keys: made.map(({ path, ...one }) => ({ ...one, file: path })) }));
    for (const { path, kind, fingerprint, notAfter } of made)
      await out.line(
        `${path}.pub ${fingerprint}${kind === 'signer' ? ', signed for by a command' : ''}${notAfter === undefined ? '' : `, ends ${dayOf(notAfter)}`}`,
      );
  },
});

async function makers(args: Args): Promise<readonly (() => Promise<KeyPlace>)[]> {
  const { folder, names, signer } = args;
  const notAfter = args.notAfter === undefined ? {} : { notAfter: secondsOf(args.notAfter) };
  const base = (name: string): NewKey => ({ folder, name, ...notAfter });
  if (signer !== undefined) {
    if (args.public === undefined || names.length !== 1)
      throw usage(
        'a signer has one name and its public key',
        'devicectl keys new FOLDER NAME --signer CMD --public FILE',
      );
    const key = createPublicKey(readFileSync(args.public, 'utf8'));
    return names.map((name) => () => foreignKey(base(name), key, signer));
  }
  const seal = args.unprotected === true ? {} : { passphrase: await newPassphrase(args.passphraseFile) };
  return names.map((name) => () => newKey({ ...base(name), ...seal }));
}

/** The end of that day. */
function secondsOf(day: string): number {
  const time = Date.parse(`${day}T23:59:59Z`);
  if (!/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(time)) throw usage(`"${day}" is no day like 2028-12-31`);
  return time / 1000;
}
