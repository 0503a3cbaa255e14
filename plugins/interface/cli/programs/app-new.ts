import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { type AppLanguage, AppNames, appFiles, LANGUAGE_NAMES, LANGUAGES, packageJson } from '../scaffold/app.ts';
import { placeLibrary } from '../scaffold/app-library.ts';
import { writeFiles } from '../scaffold/scaffold.ts';

interface NewAppOptions {
  readonly id: string;
  readonly lang: AppLanguage;
  readonly voice?: boolean;
  readonly dir?: string;
  readonly library?: string;
}

const run = promisify(execFile);

/** `devicectl app new` */
export const program = defineProgram<NewAppOptions>({
  params: {
    type: 'object',
    required: ['id', 'lang'],
    properties: {
      id: { type: 'string', description: 'of the app, in reverse domain order: com.example.agenda' },
      lang: { enum: LANGUAGE_NAMES, description: 'what it is written in; static: C, a separate program' },
      voice: { type: 'boolean', description: 'its function can be called by voice' },
      dir: { type: 'string', description: 'folder to write to (default: the last word of the id, here)' },
      library: { type: 'string', description: 'with --lang node: the packed @device-core/app (npm run pack:app)' },
    },
  },
  cli: { fixed: ['id'] },
  async run({ out, args }) {
    const { id, lang, library } = args;
    const names = AppNames.of(id);
    const { dir = names.name } = args;
    const folder = resolve(dir);
    if (library !== undefined && lang !== 'node') throw usage('--library goes with --lang node');
    if (library !== undefined && !existsSync(library)) throw usage(`there is no file ${library}`);
    if ((await entriesOf(folder)).length > 0) throw usage(`${dir} exists and is not empty`);
    const files = [...(await begin(folder, names, args))].sort();
    const built = lang !== 'static' || (await makes(folder));
    const next = [`cd ${dir}`, ...(built ? [] : ['make']), LANGUAGES[lang].test, 'devicectl app check .'];
    if (out.json) return out.line(JSON.stringify({ ok: true, id, lang, folder, files, next }));
    await out.line(`${id} is begun in ${folder}`);
    for (const file of files) await out.line(`  ${file}`);
    await out.line('next:');
    for (const step of [...next, 'devicectl app run .']) await out.line(`  ${step}`);
  },
});

/** Writes all files, or none. Returns their names. */
async function begin(
  folder: string,
  names: AppNames,
  { lang, voice = false, library }: NewAppOptions,
): Promise<readonly string[]> {
  const files = await appFiles(names, lang, voice);
  try {
    await writeFiles(folder, files);
    if (lang !== 'node') return Object.keys(files);
    const packed = await placeLibrary(folder, library === undefined ? undefined : resolve(library));
    await writeFiles(folder, { 'package.json': packageJson(names, packed) });
    return [...Object.keys(files), packed, 'package.json'];
  } catch (error) {
    // The folder was empty, or not there.
    for (const name of await entriesOf(folder)) await rm(join(folder, name), { recursive: true });
    throw error;
  }
}

/** A static program is built at once, where there is a compiler. */
async function makes(folder: string): Promise<boolean> {
  return run('make', [], { cwd: folder }).then(
    () => true,
    () => false, // the next step that is shown says so
  );
}

async function entriesOf(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw usage(`cannot write to ${folder}: ${error.code}`);
  });
}
