import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { InputFeed } from '@device-core/plugin-api/input';
import { gpio } from '@device-core/plugin-api/services/gpio';
import { inputs } from '@device-core/plugin-api/services/input';
import { Button } from './button.ts';
import { Quadrature } from './quadrature.ts';

interface Settings {
  readonly keys: readonly {
    readonly name: string;
    readonly handle: string;
    readonly activeLow: boolean;
    readonly debounceMs: number;
    readonly repeatDelayMs: number;
    readonly repeatEveryMs: number;
  }[];
  readonly knobs: readonly {
    readonly name: string;
    readonly a: string;
    readonly b: string;
    readonly quarters: 1 | 2 | 4;
    readonly reverse: boolean;
  }[];
}

type Level = 0 | 1;
/** Handler of a line's level, called with each known level. */
type Sense = (level: Level) => void;

/** For the answer of a line. */
const READ_MS = 2_000;

export const plugin = definePlugin<{ gpio: typeof gpio; inputs: typeof inputs }, Settings>({
  requires: { gpio, inputs },
  async setup(host, services) {
    const { keys, knobs } = host.config;
    const { scope, clock, log } = host;
    const feed = await InputFeed.open(services.inputs, {
      id: host.id,
      touch: false,
      keys: [...keys, ...knobs].map(({ name }) => name),
      injected: false,
    });
    scope.use('source of keys', feed);
    const lines = new Map<string, { level: Level | undefined; readonly sense: Sense[] }>();
    const on = (handle: string, sense: Sense) => {
      const line = lines.get(handle) ?? { level: undefined, sense: [] };
      line.sense.push(sense);
      lines.set(handle, line);
    };
    const resets: (() => void)[] = [];

    for (const { name, handle, activeLow, debounceMs, repeatDelayMs, repeatEveryMs } of keys) {
      const button = new Button({ debounceMs, repeat: { delayMs: repeatDelayMs, everyMs: repeatEveryMs } });
      let timer: Disposable | undefined;
      const tell = (phases: ReturnType<Button['tick']>): void => {
        for (const phase of phases) feed.add({ kind: 'key', name, phase, at: clock.monotonic() });
        timer?.[Symbol.dispose]();
        const next = button.next();
        timer = Number.isFinite(next)
          ? scope.timeout(`key ${name}`, Math.max(0, next - clock.monotonic()), () =>
              tell(button.tick(clock.monotonic())),
            )
          : undefined;
      };
      on(handle, (level) => tell(button.sense((level === 1) !== activeLow, clock.monotonic())));
      resets.push(() => {
        button.reset();
        tell([]);
      });
    }
    for (const { name, a, b, quarters, reverse } of knobs) {
      let knob: Quadrature | undefined;
      const sense = (line: 'a' | 'b') => (level: Level) => {
        const [first, second] = [lines.get(a)?.level, lines.get(b)?.level];
        // Position of the knob is known when both lines are.
        if (!knob) {
          if (first !== undefined && second !== undefined) knob = new Quadrature(quarters, [first, second]);
          return;
        }
        const delta = knob.sense(line, level) * (reverse ? -1 : 1);
        if (delta !== 0) feed.add({ kind: 'rotary', name, delta, at: clock.monotonic() });
      };
      on(a, sense('a'));
      on(b, sense('b'));
      resets.push(() => {
        knob = undefined;
      });
    }

    let problem: string | undefined;
    const gone = async (reason: string): Promise<void> => {
      if (problem !== undefined) return;
      problem = reason;
      for (const reset of resets) reset();
      for (const line of lines.values()) line.level = undefined;
      await feed.problem(reason);
    };
    const take = (handle: string, level: Level): void => {
      const line = lines.get(handle);
      if (!line) return;
      line.level = level;
      for (const sense of line.sense) sense(level);
    };
    /** The lines are the truth: an edge may have been lost, and a bridge that is gone tells nothing. */
    const look = async (): Promise<void> => {
      try {
        const deadline = clock.steady() + READ_MS;
        const levels = await Promise.all(
          [...lines.keys()].map(async (handle) => [handle, await services.gpio.read(handle, { deadline })] as const),
        );
        if (problem !== undefined) {
          problem = undefined;
          await feed.problem(undefined);
        }
        for (const [handle, level] of levels) take(handle, level);
      } catch (error) {
        await gone(reasonOf(error));
      }
    };
    const looking = (): void => void look().catch((error: unknown) => log.error({ reason: reasonOf(error) }, 'keys'));
    for (const handle of lines.keys())
      scope.use(
        `edges of ${handle}`,
        services.gpio.onEdge(handle, ({ level, lost }) => {
          if (problem !== undefined || lost > 0) looking();
          if (problem === undefined) take(handle, level);
        }),
      );
    // No line is read again and again: the link tells when the bridge went, and when it is back.
    host.bus.subscribe('bridge.link', ({ payload }) => {
      const { state, reason } = payload as { readonly state: string; readonly reason?: string };
      if (state === 'up') return look();
      return state === 'down' ? gone(reason ?? 'the bridge is gone') : undefined;
    });
    host.tap('health.collect', (report) => {
      const { lost } = feed.report;
      if (lost > 0) report.warn('INPUT_LOST', `${lost} events of ${host.id} were left out, as too many waited`);
      if (problem === undefined) report.add(host.id, { status: 'okay' });
      else report.add(host.id, { status: 'waiting', code: 'UNAVAILABLE', message: `cannot read keys: ${problem}` });
    });
    await look();
  },
});
