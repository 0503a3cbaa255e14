/** The plugin with an outbox in memory, a vault in memory, and three metrics, each of another level. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '@device-core/plugin-api';
import { outbox } from '@device-core/plugin-api/inside/services/outbox';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { operations } from '@device-core/plugin-api/services/operations';
import { secrets } from '@device-core/plugin-api/services/secrets';
import { Meter, metrics } from '@device-core/plugin-api/telemetry';
import { createTestHost, given, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/state/telemetry/index.ts';
import { FakeOutbox } from './fakes.ts';

export const manifest = join(import.meta.dirname, '../../../manifests/plugins/state/telemetry.yaml');
/** Long ago: deadlines of calls are of the machine's clock. */
export const NOW = Date.UTC(2021, 0, 2, 12);

interface Options {
  readonly endpoint?: unknown;
  readonly config?: object;
  readonly vault?: ReadonlyMap<string, string>;
  readonly outbox?: FakeOutbox | 'none';
  readonly now?: number;
  readonly grants?: Readonly<Record<string, readonly string[]>>;
}

export async function start(options: Options = {}) {
  const { endpoint, config = {}, vault, outbox: box = new FakeOutbox(), now = NOW, grants } = options;
  const table = new TestOperations();
  const meter = new Meter();
  const counted = { crash: 'device.test.failures', usage: 'device.test.uses', full: 'device.test.names' } as const;
  for (const [level, name] of Object.entries(counted))
    meter.counter(name, { unit: '{thing}', description: 'things', level: level as 'crash', why: 'a test' }).add(3);
  const clock = virtualClock({ now });
  const changed: ((name: string) => void)[] = [];
  const host = await createTestHost(plugin, {
    manifest,
    clock,
    ...(grants && { grants }),
    config: { ...(endpoint !== undefined && { endpoint }), ...config },
    services: [
      [operations, table],
      given(metrics, { collect: () => meter.collect() }),
      ...(box === 'none' ? [] : [[outbox, box] as const]),
      ...(vault
        ? [
            given(secrets, {
              get: async (ref) => {
                const name = typeof ref === 'string' ? ref : ref.secret;
                const text = vault.get(name);
                if (text === undefined) throw new Error(`there is no secret ${name}`);
                return new Secret(name, async () => text);
              },
              onChange: async (listener) => {
                changed.push(listener);
                return { [Symbol.dispose]: () => undefined };
              },
            }),
          ]
        : []),
    ],
  });
  const file = join(host.device.paths.var, 'telemetry', 'consent.json');
  const kept = () => JSON.parse(readFileSync(file, 'utf8'));
  const consent = (level: string) => table.run('telemetry.consent', { level });
  const health = async () => {
    const told: string[] = [];
    const add: HealthReport['add'] = (name, { code, message }) => told.push(`${name} ${code} ${message}`);
    await host
      .hook('health.collect')
      .promise({ add, bridge: () => undefined, warn: (code, text) => told.push(`${code} ${text}`) });
    return told.join('\n');
  };
  const log = (level: number, msg: string, more: object = {}) =>
    host.hook('log.line').call(JSON.stringify({ level, time: clock.now(), ...more, msg }));
  return { host, table, clock, box: box as FakeOutbox, kept, file, consent, health, log, changed, meter };
}
