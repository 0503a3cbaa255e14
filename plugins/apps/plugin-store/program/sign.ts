import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import { PLUGIN_PACKAGE, packedFilesOf, readTree, signTree } from '@device-core/plugin-api/inside/packages';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';

const LIMITS = { files: 100_000, bytes: 1 << 30 };

/** `devicectl plugin sign` */
export const program = defineProgram<{ readonly folder: string; readonly key: string }>({
  params: {
    type: 'object',
    required: ['folder', 'key'],
    properties: {
      folder: { type: 'string', description: 'of the plugin' },
      key: { type: 'string', description: 'file of an Ed25519 private key, PEM' },
    },
  },
  cli: { fixed: ['folder'] },
  async run({ out, args }) {
    const { folder, key } = args;
    const pem = await readFile(key, 'utf8').catch((error: Error) => {
      throw usage(`cannot read ${key}: ${error.message}`);
    });
    try {
      const files = await packedFilesOf(folder, LIMITS.files);
      const { hash } = await readTree(PLUGIN_PACKAGE, folder, files, LIMITS.bytes);
      await replaceFile(join(folder, PLUGIN_PACKAGE.signature), signTree(PLUGIN_PACKAGE, hash, pem));
      await out.line(`${PLUGIN_PACKAGE.signature} signs ${hash}`);
    } catch (error) {
      if (error instanceof CoreError) throw new Failure(EXIT.answered, error.code, error.message);
      throw usage(`cannot sign ${folder}: ${(error as Error).message}`);
    }
  },
});
