import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { addChannels, checkChannels } from './channels.ts';
import { newEdition, REPOSITORY, type RepositoryArgs } from './command.ts';
import type { Keyring } from './keyring.ts';
import type { RoleKeys, RootSigned } from './metadata.ts';

interface Args extends RepositoryArgs {
  readonly channels: readonly string[];
  readonly firstRoot: string;
}

/** Two of these sign who may sign. */
export const ROOT_KEYS = ['root-1', 'root-2', 'root-3'] as const;
/** `devicectl repo init` */
export const program = defineProgram<Args>({
  description:
    'Makes a repository. Its keys lie in a folder of keys under the names of what they sign: root-1 to root-3, targets, snapshot, timestamp, and each channel.',
  params: {
    type: 'object',
    required: ['repository', 'keys'],
    properties: {
      ...REPOSITORY,
      channels: {
        type: 'array',
        items: { type: 'string' },
        minItems: 1,
        default: ['stable', 'beta', 'apps', 'plugins'],
        description: 'what it offers',
      },
      firstRoot: {
        type: 'string',
        default: 'root.json',
        description: 'file for the first root, which images bring to devices',
      },
    },
  },
  cli: { fixed: ['repository'] },
  async run({ out, args }) {
    checkChannels(args.channels);
    const file = resolve(args.firstRoot);
    await newEdition(args, ({ keyring, edition }) => addChannels(edition, keyring, args.channels), {
      first: rolesOfRoot,
    });
    await replaceFile(file, readFileSync(join(resolve(args.repository), 'metadata/1.root.json')), { mode: 0o644 });
    if (out.json) return out.line(JSON.stringify({ ok: true, channels: args.channels, root: file }));
    await out.line(`${resolve(args.repository)} offers ${args.channels.join(', ')}`);
    await out.line(`${file} goes into images: devices begin with it`);
  },
});

function rolesOfRoot(keyring: Keyring): Pick<RootSigned, 'keys' | 'roles'> {
  const named = (names: readonly string[]) => names.map((name) => keyring.named(name));
  const root = named(ROOT_KEYS);
  if (new Set(root.map(({ id }) => id)).size < ROOT_KEYS.length)
    throw usage('the keys of root are three different ones');
  const others = (['targets', 'snapshot', 'timestamp'] as const).map((role) => [role, named([role])] as const);
  const of = (keys: readonly { readonly id: string }[], threshold: number): RoleKeys => ({
    keyids: keys.map(({ id }) => id),
    threshold,
  });
  const roles = Object.fromEntries(others.map(([role, keys]) => [role, of(keys, 1)]));
  const keys = [root, ...others.map(([, one]) => one)].flat().map(({ id, json }) => [id, json] as const);
  return { keys: Object.fromEntries(keys), roles: { root: of(root, 2), ...roles } as RootSigned['roles'] };
}
