import { choicesOf, optionalIn, yesTo } from '@device-core/plugin-api/inside/consent';
import { openPrompts, promptNamed } from '@device-core/plugin-api/inside/program';
import { cell, defineProgram, usage } from '@device-core/plugin-api/program';

interface Args {
  readonly question: string;
  readonly capabilities?: readonly string[];
  readonly with?: readonly string[];
}

/** `devicectl allow` */
export const program = defineProgram<Args>({
  description:
    'Allows what the question shows as on: all that is required. --with adds what is optional. With capabilities those alone are allowed, and the others are denied.',
  params: {
    type: 'object',
    required: ['question'],
    properties: {
      question: { type: 'string', description: 'id of the question, or the app that asks' },
      capabilities: { type: 'array', items: { type: 'string' }, description: 'these, and no others' },
      with: {
        type: 'array',
        items: { type: 'string' },
        description: 'also this one, which is optional; may be repeated',
      },
    },
  },
  cli: { fixed: ['question', 'capabilities'] },
  async complete(param, { args, client }) {
    const open = await openPrompts(client);
    if (param === 'question') return open.map(({ id }) => id);
    const asked = open.find(({ id }) => id === args.question);
    return asked === undefined ? [] : param === 'with' ? optionalIn(asked) : choicesOf(asked);
  },
  async run({ client, out, args }) {
    const prompt = await promptNamed(client, args.question);
    const { id, subject } = prompt;
    const { capabilities: named = [], with: added = [] } = args;
    const all = choicesOf(prompt);
    const strange = [...named, ...added].find((one) => !all.includes(one));
    if (strange !== undefined) throw usage(`question ${id} is not about ${cell(strange)}, but about ${all.join(', ')}`);
    const allow = named.length > 0 ? [...new Set([...named, ...added])] : yesTo(prompt, added);
    if (allow.length === 0)
      throw usage(`question ${id} is about nothing but what is optional`, `say which: --with ${all.join(' --with ')}`);
    const answer = await client.post(`/prompts/${id}`, { allow });
    if (out.json) return out.line(answer.text);
    const denied = all.filter((one) => !allow.includes(one));
    await out.line(
      `${cell(subject)}: allowed ${allow.join(', ')}${denied.length > 0 ? `; denied ${denied.join(', ')}` : ''}`,
    );
  },
});
