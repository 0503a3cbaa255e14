import type { Scope } from '../contract/scope.ts';

export interface AfterQuietOptions {
  readonly scope: Scope;
  /** Label of the timer, for `devicectl plugin show` and for errors in `run`. */
  readonly label: (key: string) => string;
  /** Milliseconds without another event. */
  readonly ms: number;
  /** An error of it is logged under the plugin's name. */
  readonly run: (key: string) => void | Promise<void>;
}

/**
 * Makes one call of many events: a file that is saved is several events of a watch, and a change several files. The
 * returned function is told of each event; `run` is called when there was none with the same key for `ms` milliseconds.
 * After the end of the scope nothing is called.
 */
export function afterQuiet({ scope, label, ms, run }: AfterQuietOptions): (key?: string) => void {
  const pending = new Map<string, Disposable>();
  return (key = '') => {
    pending.get(key)?.[Symbol.dispose]();
    if (scope.signal.aborted) return;
    const timer = scope.timeout(label(key), ms, () => {
      pending.delete(key);
      return run(key);
    });
    pending.set(key, timer);
  };
}
