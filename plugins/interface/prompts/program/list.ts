import { openPrompts, promptLines } from '@device-core/plugin-api/inside/program';
import { defineProgram } from '@device-core/plugin-api/program';

/** `devicectl prompts` */
export const program = defineProgram({
  description: 'What stands in quotation marks are the words of the app, not of the device.',
  async run({ client, out }) {
    const prompts = await openPrompts(client);
    if (out.json) return out.line(JSON.stringify({ prompts }));
    if (prompts.length === 0) return out.line('no question is open');
    for (const prompt of prompts) for (const line of promptLines(prompt, Date.now())) await out.line(line);
  },
});
