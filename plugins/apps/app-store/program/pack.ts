import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CoreError, maybe } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import { APP_PACKAGE, packApp } from '@device-core/plugin-api/inside/packages';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';

const LIMITS = { files: 100_000, bytes: 1 << 30 };

interface Args {
  readonly folder: string;
  readonly sign?: string;
  readonly out?: string;
}

/** `devicectl app pack` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    required: ['folder'],
    properties: {
      folder: { type: 'string', description: 'of the app' },
      sign: { type: 'string', description: 'file of an Ed25519 private key, PEM' },
      out: { type: 'string', description: 'the file; <name>-<version>.app here if absent' },
    },
  },
  cli: { fixed: ['folder'] },
  async run({ out, args }) {
    const { folder, sign } = args;
    const top = await nameOf(folder);
    const key = sign === undefined ? undefined : await read(sign);
    const target = resolve(args.out ?? `${top}.app`);
    try {
      const { bytes, tree, signed } = await packApp(folder, {
        top,
        limits: LIMITS,
        ...maybe({ key }),
      });
      await replaceFile(target, bytes, { mode: 0o644 });
      if (out.json) return out.line(JSON.stringify({ file: target, hash: tree.hash, bytes: bytes.length, signed }));
      await out.line(
        `${target} holds ${tree.files.size} files, ${bytes.length} bytes, ${signed ? 'signed' : 'not signed'}`,
      );
    } catch (error) {
      if (error instanceof CoreError) throw new Failure(EXIT.answered, error.code, error.message);
      throw usage(`cannot pack ${folder}: ${(error as Error).message}`);
    }
  },
});

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: Error) => {
    throw usage(`cannot read ${file}: ${error.message}`);
  });
}

/** `<name>-<version>`; the device checks the whole manifest, and `devicectl app check` does before. */
async function nameOf(folder: string): Promise<string> {
  const file = join(folder, APP_PACKAGE.manifest);
  const { value, errors } = parseYaml(await read(file));
  const { name, version } = Object(value) as { readonly name?: unknown; readonly version?: unknown };
  const good = /^[a-z][a-z0-9-]{0,39}$/.test(String(name)) && /^\d+\.\d+\.\d+[\w.+-]*$/.test(String(version));
  if (errors[0] || !good)
    throw usage(`${file} has no name and version of an app${errors[0] ? `: ${errors[0].message}` : ''}`);
  return `${String(name)}-${String(version)}`;
}
