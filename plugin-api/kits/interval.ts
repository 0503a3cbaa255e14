import type { Scope } from '../contract/scope.ts';

export interface RoundsOptions {
  readonly scope: Scope;
  /** Label of the timer, for `devicectl plugin show` and for errors in `run`. */
  readonly label: string;
  /** Milliseconds between two rounds. */
  readonly ms: number;
  /** True while there is somebody to look after. An error is logged under the plugin's name, and ends the rounds until the next call. */
  readonly run: () => boolean;
}

/**
 * Looks after others at regular intervals, only while there are any: a device that serves nobody has no timer for them.
 * The returned function says that there is somebody: the first round is `ms` milliseconds later. After the end of the
 * scope nothing is called.
 */
export function rounds({ scope, label, ms, run }: RoundsOptions): () => void {
  let waiting = false;
  const begin = (): void => {
    if (waiting || scope.signal.aborted) return;
    waiting = true;
    scope.timeout(label, ms, () => {
      waiting = false;
      if (run()) begin();
    });
  };
  return begin;
}
