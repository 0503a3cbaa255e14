import { defineProgram, usage } from '@device-core/plugin-api/program';
import { newEdition, REPOSITORY, type RepositoryArgs } from './command.ts';
import { imagesOf, LIST_TARGET } from './content.ts';
import type { TargetsSigned } from './metadata.ts';

interface Args extends RepositoryArgs {
  readonly channel: string;
  readonly version: string;
  readonly sku?: string;
  readonly reason?: string;
}

/** `devicectl repo expire` */
export const program = defineProgram<Args>({
  description:
    'Takes a version back. With --reason it stays named, so that no device takes it and each says why; without it is offered no more.',
  params: {
    type: 'object',
    required: ['repository', 'version', 'keys'],
    properties: {
      ...REPOSITORY,
      version: { type: 'string', description: 'of an image' },
      channel: { type: 'string', default: 'stable', description: 'where it is offered' },
      sku: { type: 'string', description: 'of this SKU alone (default: of all)' },
      reason: { type: 'string', minLength: 1, maxLength: 200, description: 'why nobody is to take it, for people' },
    },
  },
  cli: { fixed: ['repository', 'version'] },
  async run({ out, args }) {
    const { channel, version, reason } = args;
    const places = await newEdition(args, ({ edition }) => {
      const found = imagesOf(edition.role(channel))
        .filter((one) => one.version === version && (args.sku === undefined || one.sku === args.sku))
        .map(({ place }) => place);
      if (found.length === 0) throw usage(`${channel} has no image of version ${version}`);
      edition.edit(channel, (role) => (reason === undefined ? without(role, found) : withdrawn(role, found, reason)));
      return found;
    });
    if (out.json) return out.line(JSON.stringify({ ok: true, places, reason }));
    for (const place of places)
      await out.line(`${place} ${reason === undefined ? 'is offered no more' : `is called back: ${reason}`}`);
  },
});

function without(role: TargetsSigned, places: readonly string[]): TargetsSigned {
  const stays = Object.entries(role.targets).filter(([path]) => !places.some((place) => path.startsWith(`${place}/`)));
  return { ...role, targets: Object.fromEntries(stays) };
}

function withdrawn(role: TargetsSigned, places: readonly string[], reason: string): TargetsSigned {
  const targets = { ...role.targets };
  for (const place of places) {
    const path = `${place}/${LIST_TARGET}`;
    const entry = targets[path]!;
    targets[path] = { ...entry, custom: { ...entry.custom, withdrawn: reason } };
  }
  return { ...role, targets };
}
