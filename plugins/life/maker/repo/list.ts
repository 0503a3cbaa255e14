import { maybe } from '@device-core/plugin-api';
import { defineProgram } from '@device-core/plugin-api/program';
import { REPOSITORY } from './command.ts';
import { imagesOf } from './content.ts';
import { RepositoryFolder } from './folder.ts';
import type { TargetsSigned } from './metadata.ts';
import { forWhat, nounOf, packagesOf } from './packages.ts';

interface Args {
  readonly repository: string;
  readonly channel?: string;
}

interface Offered {
  readonly channel: string;
  /** SKU of an image, id of an app or a plugin. */
  readonly what: string;
  readonly version: string;
  readonly platform: string;
  /** Seconds since the Unix epoch. */
  readonly publishedAt: number;
  readonly rollout?: number;
  readonly withdrawn?: string;
}

/** `devicectl repo list`: needs no key, and believes the folder, as its owner does. */
export const program = defineProgram<Args>({
  description: 'What a repository offers: images, apps and plugins, and versions that were called back.',
  params: {
    type: 'object',
    required: ['repository'],
    properties: {
      repository: REPOSITORY.repository,
      channel: { type: 'string', description: 'of this channel alone (default: of all)' },
    },
  },
  cli: { fixed: ['repository'] },
  async run({ out, args }) {
    const repository = new RepositoryFolder(args.repository);
    repository.mustBeThere();
    const { roles } = repository.read();
    const offered = [...roles]
      .filter(([name]) => name !== 'targets' && (args.channel === undefined || name === args.channel))
      .flatMap(([name, role]) => offersOf(name, role));
    if (out.json) return out.line(JSON.stringify({ ok: true, offered }));
    const rows = offered.map(({ channel, what, version, platform, publishedAt, ...rest }) => [
      ...[channel, what, version, platform, new Date(publishedAt * 1000).toISOString().slice(0, 10)],
      remarkOf(rest),
    ]);
    await out.table(['CHANNEL', 'OFFERS', 'VERSION', 'FOR', 'SINCE', 'REMARK'], rows, {
      empty: 'nothing is offered yet; devicectl repo add-image, add-app and add-plugin add something',
    });
  },
});

function offersOf(channel: string, role: TargetsSigned): readonly Offered[] {
  const noun = nounOf(channel);
  if (noun !== undefined)
    return packagesOf(noun, role).map(({ id, version, publishedAt, ...rest }) => ({
      channel,
      what: id,
      version,
      platform: forWhat(rest),
      publishedAt,
      ...maybe({ withdrawn: rest.withdrawn }),
    }));
  return imagesOf(role).map(({ sku, version, place, publishedAt, rollout, withdrawn }) => ({
    channel,
    what: sku,
    version,
    platform: place.split('/')[2] ?? '',
    publishedAt,
    ...maybe({ rollout, withdrawn }),
  }));
}

function remarkOf({ rollout, withdrawn }: Pick<Offered, 'rollout' | 'withdrawn'>): string {
  if (withdrawn !== undefined) return `called back: ${withdrawn}`;
  return rollout === undefined || rollout === 100 ? '' : `to ${rollout} % of all devices`;
}
