/**
 * Puts the client library for Node into a new app: the packed file, which package.json names, and what is in it.
 * Nothing is fetched, neither here nor on a device.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { usage } from '@device-core/plugin-api/program';

const run = promisify(execFile);
const PACK = join(dirname(fileURLToPath(import.meta.resolve('@device-core/plugin-api'))), 'build/pack-app.ts');
const HINT = 'name the file that "npm run pack:app" wrote in a checkout of the Core: --library FILE';

export const LIBRARY = '@device-core/app';

/**
 * From the packed file, or built by the checkout that this devicectl belongs to. Returns the name of the file in the
 * folder of the app. Throws a Failure.
 */
export async function placeLibrary(folder: string, packed: string | undefined): Promise<string> {
  const source = packed ?? (await builtLibrary(folder));
  const place = join(folder, 'node_modules', LIBRARY);
  await mkdir(place, { recursive: true });
  const { extract } = await import('tar');
  await extract({ file: source, cwd: place, strip: 1, strict: true }).catch((thrown: Error) => {
    throw usage(`cannot read ${source}: ${thrown.message}`, HINT);
  });
  const { name, version } = await readFile(join(place, 'package.json'), 'utf8').then(
    (text) => Object(JSON.parse(text)),
    () => ({}),
  );
  if (name !== LIBRARY || !/^[\w.+-]{1,64}$/.test(version))
    throw usage(`${source} is not a package of ${LIBRARY}`, HINT);
  const file = `device-core-app-${version}.tgz`;
  if (basename(source) !== file || dirname(source) !== folder) await copyFile(source, join(folder, file));
  return file;
}

async function builtLibrary(folder: string): Promise<string> {
  const { stdout } = await run(process.execPath, [PACK], { cwd: folder }).catch(() => {
    throw usage('the library cannot be built here, where the compiler is missing', HINT);
  });
  return stdout.trim();
}
