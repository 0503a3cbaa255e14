import { defineProgram } from '@device-core/plugin-api/program';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { TURN_MS, tell } from './turn.ts';

/** `devicectl voice ask` */
export const program = defineProgram<{ readonly text: string }>({
  params: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } },
  async run({ client, out, args }) {
    const answer = await client.post('/voice/ask', { text: args.text }, { timeoutMs: TURN_MS });
    if (out.json) return out.line(answer.text);
    await tell(out, answer.body as unknown as VoiceTurn);
  },
});
