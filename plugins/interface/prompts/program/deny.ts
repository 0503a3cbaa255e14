import { openPrompts, promptNamed } from '@device-core/plugin-api/inside/program';
import { cell, defineProgram } from '@device-core/plugin-api/program';

/** `devicectl deny` */
export const program = defineProgram<{ readonly question: string }>({
  params: {
    type: 'object',
    required: ['question'],
    properties: { question: { type: 'string', description: 'id of the question, or the app that asks' } },
  },
  async complete(_param, { client }) {
    return (await openPrompts(client)).map(({ id }) => id);
  },
  async run({ client, out, args }) {
    const { id, subject } = await promptNamed(client, args.question);
    const answer = await client.post(`/prompts/${id}`, { allow: [] });
    await out.line(out.json ? answer.text : `${cell(subject)}: denied`);
  },
});
