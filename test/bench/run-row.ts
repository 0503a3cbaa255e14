/** Runs one row so that nothing it does ends the run: an error, a lane that nobody awaits, a Core that it leaves behind. */
import type { Row, RunOptions } from './harness.ts';
import { treeOf } from './process-tree.ts';
import { failed, judge, type Line } from './verdict.ts';

/** The voice session takes eleven minutes on a machine that is alone. */
const LIMIT_MS = 45 * 60_000;
/** What a failed row may still do after its processes were killed. */
const END_MS = 30_000;

/** What a row can leave behind: this process's children and its errors that nobody awaits. */
export interface Surroundings {
  /** Hears of errors that nobody took, until it is disposed of. */
  strays(heard: (error: unknown) => void): Disposable;
  /** Ends every process that this one has started and that runs still. */
  killAll(): void;
}

const surroundings: Surroundings = {
  strays(heard) {
    process.on('unhandledRejection', heard).on('uncaughtException', heard);
    return {
      [Symbol.dispose]: () => void process.off('unhandledRejection', heard).off('uncaughtException', heard),
    };
  },
  killAll() {
    for (const { pid } of treeOf(process.pid).toReversed()) if (pid !== process.pid) kill(pid);
  },
};

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // else: it has just ended
  }
}

export async function runRow(row: Row, options: RunOptions, around: Surroundings = surroundings): Promise<Line[]> {
  const stray = Promise.withResolvers<never>();
  stray.promise.catch(() => undefined); // it may come when the row is over, and then it counts all the same
  let failure: { readonly error: unknown } | undefined;
  const charge = (error: unknown): void => {
    failure ??= { error };
    stray.reject(error);
  };
  using _strays = around.strays(charge);
  // A row that waits for what never comes leaves nothing to wait for: the timer keeps this process.
  const limit = setTimeout(() => charge(new Error(`the row took more than ${LIMIT_MS / 60_000} minutes`)), LIMIT_MS);
  const running = row.run(options);
  try {
    const measured = await Promise.race([running, stray.promise]);
    await new Promise(setImmediate); // for rejections of its last turn
    if (failure) throw failure.error;
    return judge(row, measured);
  } catch (error) {
    around.killAll();
    await settled(running);
    return failed(row, error);
  } finally {
    clearTimeout(limit);
  }
}

/** The row that has failed is over, or was given up: what it still throws is not the next one's fault. */
async function settled(running: Promise<unknown>): Promise<void> {
  const limit = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => limit.resolve(undefined), END_MS);
  await Promise.race([running.then(limit.resolve, limit.resolve), limit.promise]);
  clearTimeout(timer);
  await new Promise(setImmediate);
}
