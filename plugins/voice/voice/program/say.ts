import { maybe } from '@device-core/plugin-api';
import { defineProgram } from '@device-core/plugin-api/program';
import { keep } from './wav-file.ts';

/** An announcement may wait for a turn. */
const SAY_MS = 140_000;

interface Args {
  readonly text: string;
  readonly voice?: string;
  readonly out?: string;
}

/** `devicectl voice say` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    required: ['text'],
    properties: {
      text: { type: 'string' },
      voice: { type: 'string', description: 'another voice of the speech engine' },
      out: { type: 'string', description: 'a WAV file instead of the speaker' },
    },
  },
  async run({ client, out, args }) {
    const { text, voice, out: file } = args;
    const said = { text, ...maybe({ voice }) };
    if (file !== undefined) return keep(out, file, (await client.post('/speech/synthesize', said)).body);
    const answer = await client.post('/voice/say', said, { timeoutMs: SAY_MS });
    await out.line(out.json ? answer.text : 'said');
  },
});
