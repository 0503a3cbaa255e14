/** Plays a scenario: waits on the clock of the host, does what a step says, and waits for what it expects. */
import { type Bus, type Clock, CoreError, reasonOf } from '@device-core/plugin-api';
import type { Expectation, ReadScenario, Step } from './scenario.ts';
import { SCENARIO_FAILED } from './scenario-errors.ts';

export interface Scene {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep' | 'after'>;
  readonly bus: Pick<Bus, 'subscribe'>;
  readonly run: (name: string, params: object, signal: AbortSignal) => Promise<unknown>;
  /** Before each step; counts from 0. */
  readonly step: (index: number) => void;
}

/**
 * Resolves at its end. Rejects with SCENARIO_FAILED, which names the step and its line; with the reason of the signal
 * where that ends it.
 */
export async function playScenario(scenario: ReadScenario, scene: Scene, signal: AbortSignal): Promise<void> {
  const { clock } = scene;
  const began = clock.monotonic();
  let last = began;
  for (const [index, step] of scenario.steps.entries()) {
    const due = step.at === undefined ? last + (step.after ?? 0) : began + step.at;
    const wait = due - clock.monotonic();
    if (wait > 0) await clock.sleep(wait, signal);
    signal.throwIfAborted();
    last = Math.max(due, began);
    scene.step(index);
    try {
      await play(step, scene, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const { name, lines } = scenario;
      const details = { step: index + 1, scenario: name, line: lines[index], do: step.do ?? 'expect' };
      throw new CoreError(SCENARIO_FAILED, { ...details, reason: reasonOf(error) }, { cause: error });
    }
  }
}

async function play({ do: name, params = {}, expect }: Step, scene: Scene, signal: AbortSignal): Promise<void> {
  // An event that follows from a step may come before the step's answer does.
  using expected = expect && expectation(expect, scene);
  // A copy: defaults are filled in where it arrives.
  if (name !== undefined) await scene.run(name, structuredClone(params), signal);
  await expected?.wait(signal);
}

function expectation({ event, payload = {}, withinMs = 5_000 }: Expectation, { bus, clock }: Scene) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let seen = 0;
  const subscription = bus.subscribe(
    event,
    (told) => {
      seen += 1;
      if (contains(told.payload, payload)) resolve();
    },
    { retained: false },
  );
  return {
    async wait(signal: AbortSignal): Promise<void> {
      const aborted = () => reject(signal.reason);
      signal.addEventListener('abort', aborted, { once: true });
      using _limit = clock.after(withinMs, () => {
        const others = seen === 0 ? '' : `; ${seen} came that say something else`;
        reject(new Error(`no event ${event} with ${JSON.stringify(payload)} came in ${withinMs} ms${others}`));
      });
      try {
        await promise;
      } finally {
        signal.removeEventListener('abort', aborted);
      }
    },
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

function contains(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return whole === part;
  if (typeof whole !== 'object' || whole === null) return false;
  return Object.entries(part).every(([key, value]) => contains((whole as Record<string, unknown>)[key], value));
}
