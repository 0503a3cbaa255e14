import { cell, defineProgram, openPrompts, promptNamed, usage } from '@device-core/plugin-api/program';

interface Args {
  readonly question: string;
  readonly capabilities?: readonly string[];
}

const YES = 'yes';

/** `devicectl allow` */
export const program = defineProgram<Args>({
  description: 'Without capabilities all of the question is allowed; with some of them the others are denied.',
  params: {
    type: 'object',
    required: ['question'],
    properties: {
      question: { type: 'string', description: 'id of the question, or the app that asks' },
      capabilities: { type: 'array', items: { type: 'string' } },
    },
  },
  cli: { fixed: ['question', 'capabilities'] },
  async complete(param, { args, client }) {
    const open = await openPrompts(client);
    if (param === 'question') return open.map(({ id }) => id);
    return open.find(({ id }) => id === args.question)?.what.map(({ capability }) => capability) ?? [];
  },
  async run({ client, out, args }) {
    const { id, subject, what } = await promptNamed(client, args.question);
    const all: readonly string[] = what.length === 0 ? [YES] : what.map(({ capability }) => capability);
    const named = args.capabilities ?? [];
    const strange = named.find((one) => !all.includes(one));
    if (strange !== undefined) throw usage(`question ${id} is not about ${cell(strange)}, but about ${all.join(', ')}`);
    const allow = named.length > 0 ? named : all;
    const answer = await client.post(`/prompts/${id}`, { allow });
    if (out.json) return out.line(answer.text);
    const denied = all.filter((one) => !allow.includes(one));
    await out.line(
      `${cell(subject)}: allowed ${allow.join(', ')}${denied.length > 0 ? `; denied ${denied.join(', ')}` : ''}`,
    );
  },
});
