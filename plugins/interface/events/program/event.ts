import type { EventEnvelope } from '@device-core/plugin-api';
import {
  cell,
  defineProgram,
  type ProgramOutput,
  type ProgramStreamItem,
  timeOf,
} from '@device-core/plugin-api/program';

interface Args {
  readonly filters?: readonly string[];
  readonly count?: number;
}

/** `devicectl event` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    properties: {
      filters: {
        type: 'array',
        items: { type: 'string' },
        description: 'topics, with * for one segment and ** at the end for more',
      },
      count: { type: 'integer', minimum: 1, description: 'end after this many events' },
    },
  },
  cli: { fixed: ['filters'] },
  async run({ client, out, args, signal }) {
    const { filters = ['**'], count = Infinity } = args;
    let left = count;
    for await (const item of client.stream('/events', { query: { filter: filters } }, signal)) {
      await out.line(out.json ? item.data : describe(out, item));
      left -= 1;
      if (left <= 0 || signal.aborted) break;
    }
  },
});

function describe(out: ProgramOutput, item: ProgramStreamItem): string {
  const { topic, ts, seq, source, via, priority, payload } = JSON.parse(item.data) as Partial<EventEnvelope>;
  if (topic === undefined || ts === undefined) return `${item.event} ${cell(item.data)}`;
  const marked = priority === 'normal' ? '' : ` [${priority}]`;
  return `${out.paint('dim', timeOf(ts))} ${seq} ${out.paint('bold', topic)}${marked} from ${via === undefined ? source : `${source} (${via})`} ${cell(payload)}`;
}
