import { fileURLToPath } from 'node:url';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { runToItsEnd } from './child.ts';

/** The check is a program of plugin-api, which authors have without a Core, and devices have not. */
function check(): string {
  try {
    return fileURLToPath(import.meta.resolve('@device-core/plugin-api/plugin-check'));
  } catch {
    throw usage('this device has no test kit', 'check the plugin on the machine where it is written');
  }
}

/** `devicectl plugin check` */
export const program = defineProgram<{ readonly folder: string }>({
  params: { type: 'object', properties: { folder: { type: 'string', default: '.', description: 'of the plugin' } } },
  cli: { fixed: ['folder'] },
  run: ({ out, args }) => runToItsEnd(check(), [args.folder, ...(out.json ? ['--json'] : [])]),
});
