import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import { newKeyPair } from '@device-core/plugin-api/inside/packages';
import { defineProgram, usage } from '@device-core/plugin-api/program';

/** `devicectl app keys new` */
export const program = defineProgram<{ readonly file: string }>({
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', description: 'of the private key; the public one is beside it as <file>.pub' },
    },
  },
  cli: { fixed: ['file'] },
  async run({ out, args }) {
    const file = resolve(args.file);
    for (const path of [file, `${file}.pub`])
      if (await isThere(path)) throw usage(`${path} is there already; a key is never overwritten`);
    const { privateKey, publicKey, fingerprint } = newKeyPair();
    await replaceFile(file, privateKey, { mode: 0o600 });
    await replaceFile(`${file}.pub`, publicKey, { mode: 0o644 });
    if (out.json) return out.line(JSON.stringify({ file, fingerprint }));
    await out.line(`${file} is the private key: keep it to yourself`);
    await out.line(`${file}.pub goes into app-store.trust of the SKU (${fingerprint})`);
  },
});

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
