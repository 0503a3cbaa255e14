import { PACKAGE_OFFERS } from '@device-core/plugin-api/inside/packages';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { newEdition, REPOSITORY, type RepositoryArgs } from './command.ts';
import { imagesOf, LIST_TARGET } from './content.ts';
import type { TargetsSigned } from './metadata.ts';
import { nounOf, packagesOf } from './packages.ts';

interface Args extends RepositoryArgs {
  readonly channel: string;
  readonly version: string;
  readonly sku?: string;
  readonly id?: string;
  readonly reason?: string;
}

/** One version that is offered. */
interface Found {
  readonly place: string;
  /** The target that says what it is. */
  readonly main: string;
}

/** `devicectl repo expire` */
export const program = defineProgram<Args>({
  description:
    'Takes a version back. With --reason it stays named, so that no device takes it and each says why; without it is offered no more. What is installed stays.',
  params: {
    type: 'object',
    required: ['repository', 'version', 'keys'],
    properties: {
      ...REPOSITORY,
      version: { type: 'string', description: 'of an image, or of the package that --id names' },
      channel: { type: 'string', default: 'stable', description: 'where it is offered' },
      sku: { type: 'string', description: 'of this SKU alone (default: of all)' },
      id: { type: 'string', description: 'of an app or a plugin, in the channel apps or plugins' },
      reason: { type: 'string', minLength: 1, maxLength: 200, description: 'why it is called back, for people' },
    },
  },
  cli: { fixed: ['repository', 'version'] },
  async run({ out, args }) {
    const { channel, reason } = args;
    const places = await newEdition(args, ({ edition }) => {
      const found = foundIn(edition.role(channel), args);
      edition.edit(channel, (role) => (reason === undefined ? without(role, found) : withdrawn(role, found, reason)));
      return found.map(({ place }) => place);
    });
    if (out.json) return out.line(JSON.stringify({ ok: true, places, reason }));
    for (const place of places)
      await out.line(`${place} ${reason === undefined ? 'is offered no more' : `is called back: ${reason}`}`);
  },
});

/** Throws a usage error where it is not offered. */
function foundIn(role: TargetsSigned, { channel, version, sku, id }: Args): readonly Found[] {
  const noun = nounOf(channel);
  if (noun === undefined) {
    if (id !== undefined)
      throw usage(`${channel} offers images`, 'an app is in --channel apps, a plugin in --channel plugins');
    const found = imagesOf(role).filter((one) => one.version === version && (sku === undefined || one.sku === sku));
    if (found.length === 0) throw usage(`${channel} has no image of version ${version}`);
    return found.map(({ place }) => ({ place, main: `${place}/${LIST_TARGET}` }));
  }
  if (id === undefined) throw usage(`say with --id which ${noun} is meant`);
  const found = packagesOf(noun, role).filter((one) => one.id === id && one.version === version);
  if (found.length === 0) throw usage(`${PACKAGE_OFFERS[noun].channel} has no ${id} ${version}`);
  return found.map(({ path }) => ({ place: path, main: path }));
}

function without(role: TargetsSigned, found: readonly Found[]): TargetsSigned {
  const goes = (path: string) => found.some(({ place }) => path === place || path.startsWith(`${place}/`));
  return { ...role, targets: Object.fromEntries(Object.entries(role.targets).filter(([path]) => !goes(path))) };
}

function withdrawn(role: TargetsSigned, found: readonly Found[], reason: string): TargetsSigned {
  const targets = { ...role.targets };
  for (const { main } of found) {
    const entry = targets[main]!;
    targets[main] = { ...entry, custom: { ...entry.custom, withdrawn: reason } };
  }
  return { ...role, targets };
}
