import { defineProgram } from '@device-core/plugin-api/program';

interface Args {
  readonly name: string;
}

/** `devicectl sim show` */
export const program = defineProgram<Args>({
  description: 'The file as it is kept: put it into another one, change it, and play that.',
  params: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
  cli: { fixed: ['name'] },
  async run({ client, out, args: { name } }) {
    const { text, body } = await client.get(`/sim/scenarios/${encodeURIComponent(name)}`);
    await out.line(out.json ? text : String(body.yaml).trimEnd());
  },
});
