/** Puts the client library for Node into a new app, which takes it along: nothing is fetched on a device. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { usage } from '@device-core/plugin-api/program';

const run = promisify(execFile);
const PACK = join(dirname(fileURLToPath(import.meta.resolve('@device-core/plugin-api'))), 'build/pack-app.ts');
const HINT = 'name the file that "npm run pack:app" wrote in a checkout of the Core: --library FILE';

/** From the packed file, or built by the checkout that this devicectl belongs to. Throws a Failure. */
export async function placeLibrary(folder: string, packed: string | undefined): Promise<void> {
  const place = join(folder, 'node_modules/@device-core/app');
  await mkdir(place, { recursive: true });
  if (packed === undefined) {
    await run(process.execPath, [PACK, 'place', place]).catch(() => {
      throw usage('the library cannot be built here, where the compiler is missing', HINT);
    });
    return;
  }
  const { extract } = await import('tar');
  await extract({ file: packed, cwd: place, strip: 1, strict: true }).catch((thrown: Error) => {
    throw usage(`cannot read ${packed}: ${thrown.message}`, HINT);
  });
}
