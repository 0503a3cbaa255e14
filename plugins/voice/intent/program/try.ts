import { maybe } from '@device-core/plugin-api';
import { cell, defineProgram, type ProgramOutput } from '@device-core/plugin-api/program';
import type { Tried, TriedReading } from '../readings.ts';

interface Args {
  readonly text: string;
  readonly lang?: string;
  readonly most: number;
}

/** `devicectl voice try` */
export const program = defineProgram<Args>({
  description: 'Nothing is done. Apps that run count, installed or started by "devicectl app run".',
  params: {
    type: 'object',
    required: ['text'],
    properties: {
      text: { type: 'string' },
      lang: { type: 'string', description: 'en, de or fr; the language of the device if absent' },
      most: { type: 'integer', minimum: 1, maximum: 8, default: 2, description: 'readings to show' },
    },
  },
  async run({ client, out, args }) {
    const { text, lang, most } = args;
    const answer = await client.post('/intents/try', { text, most, ...maybe({ language: lang }) });
    if (out.json) return out.line(answer.text);
    const { outcome, readings, margin, reason, partial, language } = answer.body as unknown as Tried;
    for (const [index, reading] of readings.entries()) await tell(out, reading, index + 1);
    if (readings.length === 0) await out.line(`no sentence in ${language} is near this text`);
    else
      await out.line(
        margin === undefined ? 'margin   no other intent is near' : `margin   ${margin} words to the next intent`,
      );
    const done = { plan: 'the first reading would be done', ambiguous: 'the user would be asked which' };
    await out.line(`verdict  ${outcome === 'none' ? `nothing would be done: ${cell(reason)}` : done[outcome]}`);
    if (partial) await out.line('there are more sentences than were looked at');
  },
});

async function tell(out: ProgramOutput, reading: TriedReading, place: number): Promise<void> {
  const { intent, owner, sentence, slots, distance, changes, readAs, unspoken, refused } = reading;
  const line = (name: string, text: string | undefined) =>
    text === undefined ? Promise.resolve() : out.line(`   ${name.padEnd(10)}${cell(text)}`);
  const values = Object.entries(slots).map(([name, value]) => `${name}=${value}`);
  await out.line(`${place}. ${cell([intent, ...values].join(' '))}`);
  await line('of', owner);
  await line('sentence', sentence);
  await line('read as', readAs);
  await line('differs', changes.length === 0 ? undefined : `${distance} words: ${changes.join(', ')}`);
  await line('unheard', unspoken && `no pronunciation of ${unspoken.join(', ')}`);
  await line('refused', refused && `${refused.rule}: ${refused.reason}`);
}
