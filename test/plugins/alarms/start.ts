/** Plugin alarms on a clock that the test moves on, in a zone that it names. */
import { join } from 'node:path';
import type { Alarm, Alarms, AlarmsState } from '@device-core/plugin-api/services/alarms';
import { alarms } from '@device-core/plugin-api/services/alarms';
import { audio, type PlayOptions } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import { display, notifications } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { voice } from '@device-core/plugin-api/services/voice';
import {
  createTestHost,
  type TestHost,
  TestOperations,
  type VirtualClock,
  virtualClock,
} from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/alarms/index.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/voice/alarms.yaml');
// The zone of the process holds until the device tells another one.
process.env.TZ = 'Europe/Berlin';
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
/** Monday, 30 November 2026, 06:00 in Berlin. */
export const MONDAY = Date.UTC(2026, 10, 30, 5);

export interface Started extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  readonly clock: VirtualClock;
  /** Its files. */
  readonly folder: string;
  readonly service: Alarms;
  /** Sounds with their gain, and what was read aloud. */
  readonly heard: string[];
  state(): Promise<AlarmsState>;
  run<T = Alarm>(name: string, params?: object): Promise<T>;
  /** States of the events so far. */
  events(): readonly string[];
}

export interface Options {
  readonly now?: number;
  readonly zone?: string;
  readonly config?: object;
  /** Folder of an earlier start. */
  readonly folder?: string;
  readonly broken?: Error;
  /** Its language; without it there is no panel. */
  readonly panel?: string;
}

export async function start({
  now = MONDAY,
  zone = 'Europe/Berlin',
  config,
  folder,
  broken,
  panel,
}: Options = {}): Promise<Started> {
  const clock = virtualClock({ now });
  const table = new TestOperations();
  const heard: string[] = [];
  const speaker = {
    async feedback(sound: string, { gain }: PlayOptions) {
      if (broken) throw broken;
      heard.push(`${sound} ${gain}`);
    },
  };
  const speech = { say: async (text: string) => void heard.push(text) };
  const known = folder === undefined ? [] : [[device, { info: async () => ({ paths: { var: folder } }) }]];
  const glass = panel
    ? [
        [display, { surroundings: async () => ({ locale: panel }) }],
        [notifications, {}],
      ]
    : [];
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    clock,
    isolation: 'inline',
    services: [[operations, table], [audio, speaker], [voice, speech], ...known, ...glass] as never,
    ...(config && { config }),
  });
  host.publish('system.time', { set: true, zone });
  await host.settle();
  const service = host.service(alarms);
  return {
    host,
    table,
    clock,
    folder: folder ?? host.device.paths.var,
    service,
    heard,
    state: () => service.state(),
    run: async <T>(name: string, params = {}) =>
      (await table.run(name, params, { deadline: clock.steady() + MINUTE })) as T,
    events: () =>
      host.published
        .filter(({ topic }) => topic === 'plugin.alarms.alarm')
        .map(({ payload }) => (payload as { state: string }).state),
    async [Symbol.asyncDispose]() {
      await host.stop();
      if (host.leaks().length > 0) throw new Error(`leaks: ${host.leaks().join(', ')}`);
    },
  };
}
