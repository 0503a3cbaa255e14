/** Entry that start.js imports. The rest is imported after the compile cache is on; an image (JavaScript) has no cache. */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { readArguments } from './boot/arguments.ts';

const args = readArguments(process.argv.slice(2), process.env);
if ('print' in args) {
  (args.status === 0 ? process.stdout : process.stderr).write(`${args.print}\n`);
  process.exitCode = args.status;
} else {
  if (import.meta.filename.endsWith('.ts')) enableCompileCache(join(args.paths.var, 'cache/compile'));
  const { checkSku, printVersion, runCore } = await import('./boot/run.ts');
  if (args.command === 'version') printVersion();
  else if (args.command === 'check') process.exitCode = checkSku(args);
  else await runCore(args);
}
