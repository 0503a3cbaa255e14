import { readFile } from 'node:fs/promises';
import { defineProgram, usage } from '@device-core/plugin-api/program';

interface Args {
  readonly scenario: string;
  readonly wait: boolean;
}

/** `devicectl sim play` */
export const program = defineProgram<Args>({
  description: 'A scenario that is kept, by its name, or a file that ends in .yaml. Ctrl-C ends it.',
  params: {
    type: 'object',
    required: ['scenario'],
    properties: {
      scenario: { type: 'string', description: 'its name, or a file' },
      wait: { type: 'boolean', default: true, description: 'until its end; with --no-wait it goes on alone' },
    },
  },
  cli: { fixed: ['scenario'] },
  async run({ client, out, args: { scenario, wait = true } }) {
    const isFile = /\.ya?ml$/.test(scenario);
    const what = isFile ? { yaml: await textOf(scenario) } : { name: scenario };
    const { text, body } = await client.post('/sim/play', { ...what, wait });
    await out.line(out.json ? text : `${wait ? 'played' : 'plays'} ${String(body.name)}, ${String(body.steps)} steps`);
  },
});

function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usage(`cannot read ${file}: ${error.code}`);
  });
}
