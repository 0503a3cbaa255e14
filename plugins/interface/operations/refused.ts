import type { Scope } from '@device-core/plugin-api';

/** An app that is refused in a loop makes one event in this time, not one each. */
const PAUSE_MS = 500;

/**
 * To be called at each refusal: tells how many there were since it was told last. Who and what is for those alone who
 * may read refusals.
 */
export function refusalTeller(scope: Scope, publish: (count: number) => void): () => void {
  let count = 0;
  return () => {
    count += 1;
    if (count > 1 || scope.signal.aborted) return;
    scope.timeout('refusals', PAUSE_MS, () => {
      const many = count;
      count = 0;
      publish(many);
    });
  };
}
