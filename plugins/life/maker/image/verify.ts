import { readFileSync } from 'node:fs';
import { ImageError, type ImageKeys, verifyImage } from '@device-core/plugin-api/image';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { IMAGE, invalid, openImage } from './source.ts';

interface Args {
  readonly image: string;
  readonly keys?: string;
}

/** `devicectl image verify` */
export const program = defineProgram<Args>({
  description: 'Reads every file of an image and says the first one that is not as its list has it, and who signed.',
  params: {
    type: 'object',
    required: ['image'],
    properties: {
      image: IMAGE,
      keys: { type: 'string', description: 'keys.json of the devices that are to take it' },
    },
  },
  cli: { fixed: ['image'] },
  async run({ out, args }) {
    using source = openImage(args.image);
    const { hash, image } = source;
    const signed = args.keys === undefined ? undefined : signers(args, source);
    const difference = source.difference();
    if (difference !== undefined) throw invalid(args.image, difference);
    if (out.json) return out.line(JSON.stringify({ ok: true, image: hash, files: image.files.length, signed }));
    await out.line(
      `${args.image}: ${image.sku} ${image.version}, ${image.files.length} files, all as the list has them`,
    );
    if (signed === undefined) await out.line('  nobody looked who signed it (--keys FILE)');
    else for (const print of signed) await out.line(`  signed by ${print}`);
  },
});

export function keysFrom(file: string): ImageKeys {
  try {
    const { keys, threshold } = JSON.parse(readFileSync(file, 'utf8')) as ImageKeys;
    if (!Array.isArray(keys) || !(threshold >= 1)) throw new Error('it has no keys, or no threshold');
    return { keys, threshold };
  } catch (error) {
    throw usage(`cannot read the keys ${file}: ${(error as Error).message}`, 'devicectl keys export writes them');
  }
}

function signers(args: Args, { hash, signatures, image }: ReturnType<typeof openImage>): readonly string[] {
  try {
    return verifyImage(hash, signatures, keysFrom(args.keys!), image.builtAt);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new Failure(EXIT.answered, 'SIGNATURE_INVALID', `${args.image}: ${error.message}`);
  }
}
