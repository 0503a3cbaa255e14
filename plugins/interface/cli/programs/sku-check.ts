import { fileURLToPath } from 'node:url';
import { defineProgram } from '@device-core/plugin-api/program';
import { runToItsEnd } from './child.ts';

/** The Core of this checkout checks it, in a process of its own: a plugin has no way into the kernel. */
const CORE = fileURLToPath(new URL('../../../../kernel/main.ts', import.meta.url));

/** `devicectl sku check` */
export const program = defineProgram<{ readonly file: string }>({
  params: { type: 'object', required: ['file'], properties: { file: { type: 'string', description: 'of the SKU' } } },
  run: ({ out, args }) => runToItsEnd(CORE, ['check', args.file, ...(out.json ? ['--json'] : [])]),
});
