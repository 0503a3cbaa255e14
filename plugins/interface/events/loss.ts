import type { EventEnvelope, LossReceipt } from '@device-core/plugin-api';

/**
 * A loss as the event that tells it: `from` and `to` are the range of `seq` that the lost events span, `counts` how many of each priority.
 * `cutOff` says that the subscription is over because a critical event could not be taken. Not on the bus: its `seq` is the last one lost.
 */
export function lossEvent(loss: LossReceipt, cutOff: boolean): EventEnvelope {
  return {
    topic: 'system.bus.dropped',
    ts: Date.now(),
    seq: loss.to,
    source: 'core',
    priority: 'high',
    payload: { from: loss.from, to: loss.to, counts: loss.counts, cutOff },
  };
}
