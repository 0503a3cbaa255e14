import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { treeManifests, WINGS, type Wing } from '@device-core/plugin-api/inside/tree';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { KIND_NAMES, KINDS, type Kind } from '../scaffold/kinds.ts';
import { PluginNames } from '../scaffold/names.ts';
import { outsideFiles, treeFiles, writeFiles } from '../scaffold/scaffold.ts';

interface NewOptions {
  readonly id: string;
  readonly kind: Kind;
  readonly dir?: string;
  readonly author?: string;
  readonly api?: string;
  readonly inTree?: boolean;
  readonly wing?: Wing;
}

/** `devicectl plugin new` */
export const program = defineProgram<NewOptions>({
  params: {
    type: 'object',
    required: ['id', 'kind'],
    properties: {
      id: { type: 'string' },
      kind: { enum: KIND_NAMES, description: 'what it is' },
      dir: { type: 'string', description: 'folder to write to (default: <id> here)' },
      author: { type: 'string', description: 'who writes it, for package.json and README' },
      api: {
        type: 'string',
        description: 'the packed plugin-api (npm run pack:api in the checkout), put into package.json',
      },
      inTree: { type: 'boolean', description: 'a plugin of the checkout that you stand in' },
      wing: { enum: WINGS, description: 'with --in-tree: the wing it belongs to (default: by its kind)' },
    },
  },
  cli: { fixed: ['id'] },
  async run({ out, args }) {
    const { id, kind } = args;
    const names = PluginNames.of(id);
    const made = args.inTree ? await begunInTree(names, args) : await begunOutside(names, args);
    if (out.json) return out.line(JSON.stringify({ ok: true, id, kind, ...made }));
    await out.line(`${id} is begun in ${made.folder}`);
    for (const file of made.files) await out.line(`  ${file}`);
    await out.line('next:');
    for (const step of made.next) await out.line(`  ${step}`);
  },
});

interface Made {
  readonly folder: string;
  readonly files: readonly string[];
  /** Commands and what else is left to do. */
  readonly next: readonly string[];
}

async function begunOutside(names: PluginNames, options: NewOptions): Promise<Made> {
  const { kind, author, dir = names.id } = options;
  if (options.wing !== undefined) throw usage('--wing goes with --in-tree: only the checkout has wings');
  const folder = resolve(dir);
  if (author !== undefined && !/^[^\p{Cc}]{1,100}$/u.test(author)) throw usage('--author must be one line of text');
  if (options.api !== undefined && !existsSync(options.api)) throw usage(`there is no file ${options.api}`);
  if (!(await isFree(folder))) throw usage(`${dir} exists and is not empty`);
  const api = options.api === undefined ? undefined : `file:${relative(folder, resolve(options.api))}`;
  const files = await outsideFiles(names, { kind, author, api });
  await writeFiles(folder, files);
  return { folder, files: Object.keys(files).sort(), next: [`cd ${dir}`, ...installing(folder, api), ...TRYING] };
}

const TRYING = ['npm test', 'devicectl plugin check .'];

/** Commands that make the import of plugin-api work: none where a node_modules above has it. */
function installing(folder: string, api: string | undefined): readonly string[] {
  if (api !== undefined) return ['npm install'];
  if (reachesApi(folder)) return [];
  return ['npm install --save-dev <file that "npm run pack:api" wrote in the checkout of the Core>'];
}

function reachesApi(folder: string): boolean {
  if (existsSync(join(folder, 'node_modules/@device-core/plugin-api'))) return true;
  const parent = dirname(folder);
  return parent !== folder && reachesApi(parent);
}

async function begunInTree(
  names: PluginNames,
  { kind, dir, author, api, wing = KINDS[kind].wing }: NewOptions,
): Promise<Made> {
  if (dir !== undefined || author !== undefined || api !== undefined) {
    throw usage('--in-tree goes without --dir, --author and --api: the tree has its places');
  }
  const { id } = names;
  const folder = checkoutAbove(process.cwd());
  if (treeManifests(folder).has(id)) throw usage(`there is a plugin ${id} in the tree already`);
  const place = `plugins/${wing}/${id}`;
  if (!(await isFree(join(folder, place)))) throw usage(`${place} exists and is not empty`);
  const files = await treeFiles(names, kind, wing);
  await writeFiles(folder, files);
  const next = [
    `node --test "test/plugins/${id}/*.test.ts"`,
    `devicectl plugin check ${place}`,
    `add the line "${id}: ^1.0.0" to a SKU in manifests/skus`,
    'npm run docs && npm run format && npm run check',
  ];
  return { folder, files: Object.keys(files).sort(), next };
}

function checkoutAbove(folder: string): string {
  const signs = ['manifests/plugins', 'plugins', 'plugin-api/package.json'];
  if (signs.every((sign) => existsSync(join(folder, sign)))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw usage('--in-tree works in a checkout of the Core, and here is none');
  return checkoutAbove(parent);
}

async function isFree(folder: string): Promise<boolean> {
  try {
    return (await readdir(folder)).length === 0;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return true;
    if (code === 'ENOTDIR') return false;
    throw usage(`cannot read ${folder}: ${code}`);
  }
}
