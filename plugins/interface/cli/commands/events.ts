import type { EventEnvelope } from '@device-core/plugin-api';
import { type Command, InvalidArgumentError } from 'commander';
import { action } from '../cli.ts';
import type { StreamItem } from '../client.ts';
import { cell, paint, timeOf } from '../output.ts';

export function addEvents(program: Command): void {
  program
    .command('events [filters...]')
    .description(
      'live events of the bus until Ctrl-C; a filter is a topic with * for one segment, ** at the end for more',
    )
    .option('--count <n>', 'end after this many events', wholeNumber)
    .action(
      action<[string[]], { readonly count?: number }>(async ({ client, out }, [filters], { count = Infinity }) => {
        const stop = new AbortController();
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
        const query = { filter: filters.length > 0 ? filters : ['**'] };
        let left = count;
        for await (const item of client.stream('/events', { query }, stop.signal)) {
          await out.line(out.json ? item.data : describe(item));
          left -= 1;
          if (left <= 0 || stop.signal.aborted) break;
        }
      }),
    );
}

function describe(item: StreamItem): string {
  const { topic, ts, seq, source, priority, payload } = JSON.parse(item.data) as Partial<EventEnvelope>;
  if (topic === undefined || ts === undefined) return `${item.event} ${cell(item.data)}`;
  const marked = priority === 'normal' ? '' : ` [${priority}]`;
  return `${paint('dim', timeOf(ts))} ${seq} ${paint('bold', topic)}${marked} from ${source} ${cell(payload)}`;
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('it must be a whole number above 0');
  return Number(text);
}
