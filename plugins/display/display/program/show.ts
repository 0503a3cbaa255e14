import { readFile } from 'node:fs/promises';
import { defineProgram, usage } from '@device-core/plugin-api/program';

interface Args {
  readonly file: string;
}

/** `devicectl display show` */
export const program = defineProgram<Args>({
  description:
    'The file is the JSON of a scene or of a card. It is shown as the operator\'s own; "devicectl display hide" takes it away.',
  params: {
    type: 'object',
    required: ['file'],
    properties: { file: { type: 'string', description: 'a scene or a card, as JSON' } },
  },
  cli: { fixed: ['file'] },
  async run({ client, out, args: { file } }) {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw usage(`cannot read ${file}: ${error.code}`);
    });
    const value = parsed(file, text);
    const card = Object.hasOwn(value, 'card');
    const answer = await client.put(card ? '/display/card' : '/display/surface', value);
    const { state, version } = answer.body;
    const waits = state === 'queued' ? 'it waits until it is opened' : `it is in the ${String(state)}`;
    await out.line(out.json ? answer.text : `${card ? 'card' : 'scene'} ${String(version)}: ${waits}`);
  },
});

function parsed(file: string, text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usage(`${file} is no JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw usage(`${file} is neither a scene nor a card`);
}
