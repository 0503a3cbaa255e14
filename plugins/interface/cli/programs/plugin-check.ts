import { fileURLToPath } from 'node:url';
import { defineProgram } from '@device-core/plugin-api/program';
import { runToItsEnd } from './child.ts';

/** The check is a program of plugin-api, which authors have without a Core. */
const CHECK = fileURLToPath(import.meta.resolve('@device-core/plugin-api/plugin-check'));

/** `devicectl plugin check` */
export const program = defineProgram<{ readonly folder: string }>({
  params: { type: 'object', properties: { folder: { type: 'string', default: '.', description: 'of the plugin' } } },
  cli: { fixed: ['folder'] },
  run: ({ out, args }) => runToItsEnd(CHECK, [args.folder, ...(out.json ? ['--json'] : [])]),
});
