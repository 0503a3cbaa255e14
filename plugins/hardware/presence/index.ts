import { definePlugin } from '@device-core/plugin-api';
import { gpio } from '@device-core/plugin-api/services/gpio';
import { sensors } from '@device-core/plugin-api/services/sensors';
import { type Presence, PresenceState } from './presence.ts';

interface Settings {
  readonly handle: string;
  readonly activeLow: boolean;
  readonly confirmMs: number;
  readonly holdMs: number;
  readonly checkMs: number;
}

const NUMBER_OF = { absent: 0, present: 1, unknown: -1 } as const;

export const plugin = definePlugin<{ gpio: typeof gpio; sensors: typeof sensors }, Settings>({
  requires: { gpio, sensors },
  setup(host, services) {
    const { handle, activeLow, checkMs, ...settings } = host.config;
    const { scope, bus } = host;
    const state = new PresenceState(settings);
    let told: Presence | undefined;
    let timer: Disposable | undefined;
    const tell = (): void => {
      const now = performance.now();
      const presence = state.at(now);
      if (told?.state !== presence.state || told.confidence !== presence.confidence)
        bus.publish('system.presence', presence, presence.state === told?.state ? 'low' : 'normal');
      told = presence;
      timer?.[Symbol.dispose]();
      const next = state.next(now);
      timer = next === Number.POSITIVE_INFINITY ? undefined : scope.timeout('change of presence', next - now, tell);
    };
    const sense = (level: 0 | 1 | undefined): void => {
      state.sense(level === undefined ? undefined : (level === 1) !== activeLow, performance.now());
      tell();
    };
    scope.use(
      'edges',
      services.gpio.onEdge(handle, ({ level }) => sense(level)),
    );
    // The line is the truth: an edge may have been lost, and a bridge that is gone tells nothing.
    const look = async (): Promise<void> =>
      sense(await services.gpio.read(handle, { deadline: host.clock.steady() + checkMs }).catch(() => undefined));
    scope.interval('look at the line', checkMs, look);
    scope.use(
      'sensor presence',
      services.sensors.register(
        {
          name: 'presence',
          title: 'Whether a person is there',
          quantities: { present: { unit: 'bool', min: -1, max: 1 }, confidence: { unit: '1', min: 0, max: 1 } },
          leastIntervalMs: 10,
        },
        {
          async read() {
            const { state: known, confidence } = state.at(performance.now());
            return { at: Date.now(), values: { present: NUMBER_OF[known], confidence } };
          },
        },
        `plugin.${host.id}`,
      ),
    );
    tell();
    return look();
  },
});
