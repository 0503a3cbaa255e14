import { maybe } from '@device-core/plugin-api';
import { defineProgram } from '@device-core/plugin-api/program';

interface Args {
  readonly text: string;
  readonly level?: string;
  readonly app?: string;
  readonly ms?: number;
}

/** `devicectl toast` */
export const program = defineProgram<Args>({
  description: 'The operator may show one in the name of an app, to see how it looks.',
  params: {
    type: 'object',
    required: ['text'],
    properties: {
      text: { type: 'string', description: 'two lines at most are shown' },
      level: { enum: ['info', 'success', 'warn', 'error'], description: 'info if absent' },
      app: { type: 'string', description: 'id of the app in whose name it is shown' },
      ms: { type: 'integer', description: 'how long it stays, 1000 to 10000; 3000 if absent' },
    },
  },
  cli: { fixed: ['text'] },
  async complete(param, { client }) {
    if (param !== 'app') return [];
    const { body } = await client.get('/apps');
    return (body.apps as readonly { readonly id: string }[]).map(({ id }) => id);
  },
  async run({ client, out, args: { text, level = 'info', app, ms } }) {
    const payload = { text, level, ...maybe({ app, durationMs: ms }) };
    const answer = await client.post('/events/publish', { topic: 'ui.toast', payload });
    await out.line(out.json ? answer.text : 'it is on its way to the panel');
  },
});
