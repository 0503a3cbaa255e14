import { defineProgram } from '@device-core/plugin-api/program';
import { newEdition, REPOSITORY, type RepositoryArgs } from './command.ts';
import { addImage } from './content.ts';

interface Args extends RepositoryArgs {
  readonly image: string;
  readonly channel: string;
  readonly rollout?: number;
}

/** `devicectl repo add-image` */
export const program = defineProgram<Args>({
  description: 'Offers an image in a channel. The same image again changes its rollout.',
  params: {
    type: 'object',
    required: ['repository', 'image', 'keys'],
    properties: {
      ...REPOSITORY,
      image: { type: 'string', description: 'folder of the image, signed' },
      channel: { type: 'string', default: 'stable', description: 'where it is offered' },
      rollout: { type: 'integer', minimum: 0, maximum: 100, description: 'percent of all devices (default: all)' },
    },
  },
  cli: { fixed: ['repository', 'image'] },
  async run({ out, args }) {
    const { channel, rollout } = args;
    const added = await newEdition(args, async ({ repository, edition, now }) => {
      const publishedAt = Math.floor(now / 1000);
      const found = await addImage(repository, edition.role(channel), {
        folder: args.image,
        channel,
        publishedAt,
        rollout,
      });
      edition.edit(channel, found.change);
      return found;
    });
    const { image, hash, place, fresh, blobs } = added;
    if (out.json) return out.line(JSON.stringify({ ok: true, image: hash, place, blobs, bytes: fresh }));
    await out.line(`${channel} offers ${image.sku} ${image.version}${rollout === undefined ? '' : ` to ${rollout} %`}`);
    await out.line(`${hash}: ${blobs} blobs, ${fresh} bytes of them new`);
  },
});
