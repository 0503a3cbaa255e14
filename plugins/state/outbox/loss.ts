/** Sums of dropped messages. Pure. */
import type { OutboxLoss } from '@device-core/plugin-api/inside/services/outbox';
import { priorityOf, type Row } from './message.ts';

export type Lost = Pick<Row, 'level' | 'at' | 'bytes'>;

export function lossOf({ level, at, bytes }: Lost): OutboxLoss {
  return { lost: 1, bytes, from: at, to: at, counts: { [priorityOf(level)]: 1 } };
}

/** Sum of losses; undefined if there is none. */
export function sum(losses: Iterable<OutboxLoss>): OutboxLoss | undefined {
  let all: OutboxLoss | undefined;
  for (const loss of losses) all = all ? both(all, loss) : loss;
  return all;
}

function both(one: OutboxLoss, other: OutboxLoss): OutboxLoss {
  const counts: Record<string, number> = { ...one.counts };
  for (const [priority, count] of Object.entries(other.counts)) counts[priority] = (counts[priority] ?? 0) + count;
  return {
    lost: one.lost + other.lost,
    bytes: one.bytes + other.bytes,
    from: Math.min(one.from, other.from),
    to: Math.max(one.to, other.to),
    counts,
  };
}

/** Loss in the body of a receipt; undefined for another body. */
export function readLoss(body: string): OutboxLoss | undefined {
  try {
    const loss = JSON.parse(body) as OutboxLoss;
    const whole = [loss.lost, loss.bytes, loss.from, loss.to].every(Number.isFinite);
    return whole && typeof loss.counts === 'object' && loss.counts !== null ? loss : undefined;
  } catch {
    return undefined; // damaged: the messages that it counted are gone, and so is their number
  }
}
