import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import {
  IMAGE_LIST,
  IMAGE_SIGNATURE,
  ImageError,
  imageHash,
  parseImage,
  signatureLine,
  textToSign,
} from '@device-core/plugin-api/inside/image';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { openSigner, type Signer } from './signer.ts';

interface Args {
  readonly image: string;
  readonly key: string;
  readonly passphraseFile?: string;
  readonly signer?: string;
}

/** The line of `image.sig` that this key makes for a list. */
export const imageLine = (signer: Signer, hash: string): string =>
  signatureLine(signer.key, signer.sign(Buffer.from(textToSign(hash))));

/** The signatures of a list with one more; a key that signed before signs anew. */
export function withSignature(signatures: string, signer: Signer, hash: string): string {
  const others = signatures.split('\n').filter((line) => line !== '' && !line.startsWith(`${signer.fingerprint} `));
  return `${others.map((line) => `${line}\n`).join('')}${imageLine(signer, hash)}`;
}

/** `devicectl keys sign` */
export const program = defineProgram<Args>({
  description: 'Adds a signature to an image. One that needs two is signed by two people, one after the other.',
  params: {
    type: 'object',
    required: ['image', 'key'],
    properties: {
      image: { type: 'string', description: 'folder of an image' },
      key: { type: 'string', description: 'the key, FOLDER/NAME' },
      passphraseFile: {
        type: 'string',
        description: 'file whose first line opens it, - is standard input (default: the terminal is asked)',
      },
      signer: { type: 'string', description: 'command that signs: message on stdin, signature on stdout' },
    },
  },
  cli: { fixed: ['image'] },
  async run({ out, args }) {
    const list = await readList(args.image);
    const signer = await openSigner(args.key, args);
    const file = join(args.image, IMAGE_SIGNATURE);
    const hash = imageHash(list);
    await replaceFile(file, withSignature(existsSync(file) ? readFileSync(file, 'utf8') : '', signer, hash), {
      mode: 0o644,
    });
    if (out.json) return out.line(JSON.stringify({ ok: true, image: hash, key: signer.fingerprint }));
    await out.line(`${signer.name} signed ${hash}`);
  },
});

async function readList(folder: string): Promise<Buffer> {
  const file = join(folder, IMAGE_LIST);
  try {
    const list = readFileSync(file);
    parseImage(list);
    return list;
  } catch (error) {
    if (error instanceof ImageError)
      throw new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `${file}: ${error.message}`);
    throw usage(`cannot read the image: ${(error as Error).message}`);
  }
}
