import { cell, defineProgram } from '@device-core/plugin-api/program';

/** The device puts them around a name, so that it does not turn what stands beside it; here a line is words alone. */
const ISOLATES = /[\u2068\u2069]/g;

/** `devicectl display text` */
export const program = defineProgram({
  description: 'What lies above comes first; what can be tapped stands in brackets.',
  async run({ client, out }) {
    const answer = await client.get('/display/text');
    if (out.json) return out.line(answer.text);
    for (const line of answer.body.text as readonly string[]) await out.line(cell(line.replace(ISOLATES, '')));
  },
});
