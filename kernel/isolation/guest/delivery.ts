import type { EventEnvelope, EventHandler } from '@device-core/plugin-api';

/** Events on their way to a handler on the other side that is never busy. */
const AHEAD = 128;

/**
 * The host's end of a subscription: resolves `deliver` true where the handler took its time. While it does not, events
 * are sent without waiting for each other, and so are with the guest before what is said next; else one at a time, so
 * that the bus sees a busy subscriber.
 */
export function sender(
  deliver: (event: EventEnvelope) => PromiseLike<unknown>,
  failed: (error: unknown, event: EventEnvelope) => void,
): EventHandler {
  let unanswered = 0;
  let prompt = true;
  return (event) => {
    unanswered++;
    const answered = deliver(event).then(
      (tookTime) => {
        unanswered--;
        if (tookTime === true) prompt = false;
      },
      (error) => {
        unanswered--;
        failed(error, event);
      },
    );
    return prompt && unanswered < AHEAD ? undefined : (answered as Promise<void>);
  };
}

/** The guest's end: the handler gets one event after the other. Resolves true where it had to be waited for. */
export function receiver(handler: EventHandler): (event: EventEnvelope) => false | Promise<true> {
  let last: Promise<unknown> | undefined;
  const wait = (settled: Promise<unknown>): Promise<true> => {
    const tookTime = settled.then((): true => true);
    const over = tookTime
      .catch(() => undefined)
      .then(() => {
        if (last === over) last = undefined;
      });
    last = over;
    return tookTime;
  };
  return (event) => {
    if (last) return wait(last.then(() => handler(event)));
    const settled = handler(event);
    return settled ? wait(settled) : false;
  };
}
