import { cell, defineProgram, duration } from '@device-core/plugin-api/program';
import { lengthOf } from './times.ts';

interface Args {
  readonly component: string;
  readonly level: string;
  readonly for: string;
}

/** `devicectl logs level voice debug --for 10m` */
export const program = defineProgram<Args>({
  description:
    'A component logs more, or less, for a while; then it logs as before. It survives no restart of the Core.',
  params: {
    type: 'object',
    required: ['component', 'level'],
    properties: {
      component: { type: 'string', description: '`core`, or the id of a plugin' },
      level: {
        enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'],
        description: 'the least one that is written',
      },
      for: { type: 'string', default: '10m', description: 'how long: 90s, 10m, 2h, a day at most' },
    },
  },
  cli: { fixed: ['component', 'level'] },
  async complete(param, { client }) {
    if (param !== 'component') return [];
    const { body } = await client.get('/logs/levels');
    return (body.components as readonly { readonly component: string }[]).map(({ component }) => component);
  },
  async run({ client, out, args }) {
    const forMs = lengthOf('--for', args.for);
    const path = `/logs/levels/${encodeURIComponent(args.component)}`;
    const { text, body } = await client.put(path, { level: args.level, forMs });
    if (out.json) return out.line(text);
    await out.line(`${cell(body.component)} logs from ${cell(body.level)} on for ${duration(forMs)}`);
  },
});
