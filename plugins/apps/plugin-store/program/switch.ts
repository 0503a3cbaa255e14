/** `plugin enable` and `plugin disable`: for good, or until the Core starts again. */
import { cell, defineProgram, type Program, type ProgramOutput } from '@device-core/plugin-api/program';
import { unlessMissing } from './listing.ts';

interface Args {
  readonly id: string;
  readonly nowOnly?: boolean;
}

interface Switched {
  readonly id: string;
  readonly enabled?: boolean;
  /** Absent where the plugin is not part of what runs now. */
  readonly state?: string;
  readonly reason?: string;
}

export function switching(enabled: boolean): Program<Args> {
  return defineProgram<Args>({
    params: {
      type: 'object',
      required: ['id'],
      properties: {
        id: { type: 'string' },
        nowOnly: { type: 'boolean', description: 'forget it at the next start of the Core' },
      },
    },
    async run({ client, out, args }) {
      const path = `/plugins/${encodeURIComponent(args.id)}`;
      const forGood = args.nowOnly ? undefined : await unlessMissing(client.post(`${path}/switch`, { enabled }));
      const answer = forGood ?? (await client.post(`${path}/${enabled ? 'enable' : 'disable'}`));
      if (out.json) return out.line(answer.text);
      await out.line(stateOf(out, (answer.body.plugin ?? answer.body) as unknown as Switched));
    },
  });
}

function stateOf(out: ProgramOutput, { id, enabled, state, reason }: Switched): string {
  if (state === undefined) return `${id} is ${enabled ? 'enabled' : 'disabled'}; it is no part of what runs now`;
  return `${id} is ${out.state(state)}${reason ? `: ${cell(reason)}` : ''}`;
}
