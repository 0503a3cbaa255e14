import { defineProgram } from '@device-core/plugin-api/program';
import { keep } from './wav-file.ts';

/** `devicectl voice heard` */
export const program = defineProgram<{ readonly file: string }>({
  params: { type: 'object', required: ['file'], properties: { file: { type: 'string', description: 'to write' } } },
  run: async ({ client, out, args }) => keep(out, args.file, (await client.get('/audio/heard')).body),
});
