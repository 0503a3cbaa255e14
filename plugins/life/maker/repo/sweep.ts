import { rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sweepFolders } from '@device-core/plugin-api/durable';
import { defineProgram } from '@device-core/plugin-api/program';
import { REPOSITORY } from './command.ts';
import { RepositoryFolder } from './folder.ts';
import { type Unnamed, unnamed } from './named.ts';

interface Args {
  readonly repository: string;
  readonly days: number;
  readonly dryRun?: boolean;
}

const DAY = 86_400_000;
const KINDS = ['metadata', 'targets', 'blobs'] as const;

/** `devicectl repo sweep`: needs no key, for nothing that is signed changes. */
export const program = defineProgram<Args>({
  description:
    'Removes files that nothing names any more: blobs and lists of images that are offered no more, and former metadata. Roots stay, and so do versions that were called back with a reason. A copy on a web server is swept by itself.',
  params: {
    type: 'object',
    required: ['repository'],
    properties: {
      repository: REPOSITORY.repository,
      days: {
        type: 'integer',
        minimum: 0,
        maximum: 3650,
        default: 30,
        description: 'what was named or written within so many days stays: a device may be fetching it',
      },
      dryRun: { type: 'boolean', description: 'tell what would go, and remove nothing' },
    },
  },
  cli: { fixed: ['repository'] },
  async run({ out, args }) {
    const repository = new RepositoryFolder(args.repository);
    repository.mustBeThere();
    using _lock = await repository.alone();
    const found = unnamed(repository, Date.now() - args.days * DAY);
    if (!args.dryRun) {
      await sweepFolders([repository.metadata, join(repository.path, 'blobs')]);
      for (const { path } of found) remove(repository.path, path);
    }
    const bytes = found.reduce((sum, file) => sum + file.bytes, 0);
    const counts = Object.fromEntries(KINDS.map((kind) => [kind, found.filter((file) => file.kind === kind).length]));
    if (out.json) return out.line(JSON.stringify({ ok: true, ...counts, bytes, dryRun: args.dryRun === true }));
    for (const { path } of args.dryRun ? found : []) await out.line(path);
    await out.line(said(found, bytes, args.dryRun === true));
  },
});

function said(found: readonly Unnamed[], bytes: number, dry: boolean): string {
  if (found.length === 0) return 'everything is named, or too young to go';
  return `${found.length} files, ${bytes} bytes ${dry ? 'would go' : 'are gone'}`;
}

/** With the folders of a target that become empty. */
function remove(repository: string, path: string): void {
  rmSync(join(repository, path), { force: true });
  if (!path.startsWith('targets/')) return;
  for (let folder = dirname(path); folder.includes('/'); folder = dirname(folder))
    try {
      rmdirSync(join(repository, folder));
    } catch {
      return; // others lie in it
    }
}
