import { resolve } from 'node:path';
import { maybe } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import type { ImageKeys } from '@device-core/plugin-api/inside/image';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { keyAt } from './key-files.ts';

interface Args {
  readonly keys: readonly string[];
  readonly threshold: number;
  readonly out: string;
}

/** `devicectl keys export` */
export const program = defineProgram<Args>({
  description: 'Writes what a device has to know to check images: public keys, and how many of them must have signed.',
  params: {
    type: 'object',
    required: ['keys'],
    properties: {
      keys: { type: 'array', items: { type: 'string' }, minItems: 1, description: 'FOLDER/NAME of each' },
      threshold: { type: 'integer', minimum: 1, default: 1, description: 'so many of them must have signed' },
      out: { type: 'string', default: 'keys.json', description: 'the file' },
    },
  },
  cli: { fixed: ['keys'] },
  async run({ out, args }) {
    const found = args.keys.map(keyAt);
    if (new Set(found.map(({ fingerprint }) => fingerprint)).size < args.threshold)
      throw usage(`${args.threshold} different keys can never sign: these are fewer`);
    const keys: ImageKeys = {
      keys: found.map(({ key, notAfter }) => ({ key, ...maybe({ notAfter }) })),
      threshold: args.threshold,
    };
    const file = resolve(args.out);
    await replaceFile(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o644 });
    if (out.json)
      return out.line(JSON.stringify({ ok: true, file, keys: found.map(({ fingerprint }) => fingerprint) }));
    await out.line(`${file}: ${args.threshold} of ${found.length} must have signed`);
  },
});
