import { readFileSync } from 'node:fs';
import { ImageError, type ImageKeys, verifyImage } from '@device-core/plugin-api/inside/image';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { IMAGE, type ImageSource, invalid, openImage } from './source.ts';

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
    const signed = args.keys === undefined ? undefined : signers(args.image, source, keysFrom(args.keys));
    checkFiles(args.image, source);
    if (out.json) return out.line(JSON.stringify({ ok: true, image: hash, files: image.files.length, signed }));
    await out.line(
      `${args.image}: ${image.sku} ${image.version}, ${image.files.length} files, all as the list has them`,
    );
    if (signed === undefined) await out.line('  its signature was not checked (--keys FILE)');
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

/** Throws a Failure SYSTEM_IMAGE_INVALID that names the first file that is not as the list has it. */
export function checkFiles(path: string, source: ImageSource): void {
  const difference = source.difference();
  if (difference !== undefined) throw invalid(path, difference);
}

/** Fingerprints of the keys that signed. Throws a Failure SIGNATURE_INVALID where these are not enough. */
export function signers(path: string, source: ImageSource, keys: ImageKeys): readonly string[] {
  const { hash, signatures, image } = source;
  try {
    return verifyImage(hash, signatures, keys, image.builtAt);
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    throw new Failure(EXIT.answered, 'SIGNATURE_INVALID', `${path}: ${error.message}`);
  }
}
