import { resolve } from 'node:path';
import { defineProgram } from '@device-core/plugin-api/program';
import { addChannels, checkChannels } from './channels.ts';
import { newEdition, REPOSITORY, type RepositoryArgs } from './command.ts';

interface Args extends RepositoryArgs {
  readonly channel: string;
}

/** `devicectl repo add-channel` */
export const program = defineProgram<Args>({
  description:
    'Makes a channel, which offers nothing yet. Its key lies in the folder of keys under its name; the key of targets signs that it is one.',
  params: {
    type: 'object',
    required: ['repository', 'channel', 'keys'],
    properties: { ...REPOSITORY, channel: { type: 'string', description: 'name of the channel' } },
  },
  cli: { fixed: ['repository', 'channel'] },
  async run({ out, args }) {
    const { channel } = args;
    checkChannels([channel]);
    const channels = await newEdition(args, ({ edition, keyring }) => {
      addChannels(edition, keyring, [channel]);
      return edition.channels;
    });
    if (out.json) return out.line(JSON.stringify({ ok: true, channel, channels }));
    await out.line(`${resolve(args.repository)} offers ${channels.join(', ')}`);
  },
});
