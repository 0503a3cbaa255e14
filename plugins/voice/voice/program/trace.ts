import { cell, defineProgram, timeOf } from '@device-core/plugin-api/program';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { tell } from './turn.ts';

/** `devicectl voice trace` */
export const program = defineProgram<{ readonly limit: number }>({
  params: {
    type: 'object',
    properties: { limit: { type: 'integer', minimum: 1, default: 5, description: 'how many turns' } },
  },
  async run({ client, out, args }) {
    const answer = await client.get('/voice/turns', { query: { limit: args.limit } });
    if (out.json) return out.line(answer.text);
    const turns = answer.body.turns as readonly VoiceTurn[];
    if (turns.length === 0) return out.line('there were no turns');
    for (const turn of turns) {
      const latency = turn.latencyMs === undefined ? '' : `, ${turn.latencyMs} ms to the answer`;
      await out.line(`${timeOf(turn.at)}  ${turn.source}${latency}  ${cell(turn.turn)}`);
      await tell(out, turn, '  ');
      for (const { name, from, to, note } of turn.spans)
        await out.line(`  ${name.padEnd(9)}${ms(from)} .. ${ms(to)}  ${cell(note)}`.trimEnd());
    }
  },
});

function ms(value: number): string {
  return value.toFixed(1).padStart(9);
}
