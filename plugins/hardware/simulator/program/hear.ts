import { readFile } from 'node:fs/promises';
import { defineProgram, usage } from '@device-core/plugin-api/program';

interface Args {
  readonly file: string;
  readonly gain?: number;
  readonly over?: boolean;
}

/** `devicectl sim hear` */
export const program = defineProgram<Args>({
  description: 'After what it was given before, or over it.',
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', description: 'a WAV file' },
      gain: { type: 'number', description: 'how loud, 1 if absent' },
      over: { type: 'boolean', description: 'now, over all else' },
    },
  },
  cli: { fixed: ['file'] },
  async run({ client, out, args: { file, ...how } }) {
    const wav = await readFile(file).catch((error: NodeJS.ErrnoException) => {
      throw usage(`cannot read ${file}: ${error.code}`);
    });
    const { text } = await client.post('/sim/hear', { wav: wav.toString('base64'), ...how });
    await out.line(out.json ? text : `the microphone hears ${file}`);
  },
});
