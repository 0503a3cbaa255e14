import { defineProgram } from '@device-core/plugin-api/program';
import { keysIn } from './key-files.ts';
import { dayOf } from './signer.ts';

const SIGNS = { file: 'yes', signer: 'by a command', public: 'no' } as const;

/** `devicectl keys list` */
export const program = defineProgram<{ readonly folder: string }>({
  params: {
    type: 'object',
    required: ['folder'],
    properties: { folder: { type: 'string', description: 'of keys' } },
  },
  cli: { fixed: ['folder'] },
  async run({ out, args }) {
    const keys = keysIn(args.folder);
    if (out.json)
      return out.line(JSON.stringify({ ok: true, keys: keys.map(({ path, ...one }) => ({ ...one, file: path })) }));
    const rows = keys.map(({ name, kind, notAfter, fingerprint }) => [
      ...[name, SIGNS[kind], notAfter === undefined ? 'never' : dayOf(notAfter), fingerprint],
    ]);
    await out.table(['KEY', 'SIGNS HERE', 'ENDS', 'FINGERPRINT'], rows, { empty: 'no keys' });
  },
});
