/** Plugin home before a screen in memory, with services that remember what was asked of them. */
import assert from 'node:assert/strict';
import { type Caller, CoreError } from '@device-core/plugin-api';
import { ledger } from '@device-core/plugin-api/inside/services/ledger';
import { type AlarmsState, alarms } from '@device-core/plugin-api/services/alarms';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { type AudioState, audio } from '@device-core/plugin-api/services/audio';
import { type ConfigChange, config } from '@device-core/plugin-api/services/config';
import { device } from '@device-core/plugin-api/services/device';
import { display, type Notification, notifications } from '@device-core/plugin-api/services/display';
import { type IntentDefinition, type IntentRun, intents } from '@device-core/plugin-api/services/intents';
import { network, type WifiNetwork } from '@device-core/plugin-api/services/network';
import { operations } from '@device-core/plugin-api/services/operations';
import { type TimersState, timers } from '@device-core/plugin-api/services/timers';
import { voice } from '@device-core/plugin-api/services/voice';
import {
  createTestHost,
  given,
  OPERATOR,
  type TestHost,
  TestOperations,
  VirtualClock,
} from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/home/index.ts';
import { FakeDisplay } from '../../fixtures/fake-display.ts';

export const MANIFEST = 'manifests/plugins/display/home.yaml';
export const NOW = Date.UTC(2026, 10, 22, 19, 41);

export function notification(more: Partial<Notification> = {}): Notification {
  return {
    id: 'n1',
    kind: 'toast',
    app: 'com.example.agenda',
    title: 'Agenda',
    text: 'Dentist at half past eight',
    level: 'info',
    at: NOW - 600_000,
    state: 'shown',
    count: 1,
    ...more,
  };
}

export const AIR: readonly WifiNetwork[] = [
  { ssid: 'Workshop', signal: 0.82, security: 'wpa', known: true, joined: true },
  { ssid: 'Café {next} door', signal: 0.4, security: 'open', known: false, joined: false },
  { ssid: "Bob's", signal: 0.31, security: 'wpa3', known: false, joined: false },
  { ssid: 'Office', signal: 0.2, security: 'enterprise', known: false, joined: false },
];

export interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  readonly screen: FakeDisplay;
  readonly clock: VirtualClock;
  /** `volume 0.5`, `mute true`, `set display.theme "day"`, `dismiss n1`, `start com.example.agenda`. */
  readonly asked: string[];
  notify(list: readonly Notification[]): void;
  timers(state: Partial<TimersState>): void;
  alarms(state: Partial<AlarmsState>): void;
  /** Apps that are there from now on: id and title. */
  /** It went, and nobody has told yet. */
  gone(id: string): void;
  /** Titles that an intent knows, as they are said; undefined where it cannot be said. */
  said(id: string): string | undefined;
  apps(list: readonly (readonly [id: string, title: string])[]): void;
  sound(state: Partial<AudioState>): void;
  say(sentence: string, slots?: Readonly<Record<string, string>>): Promise<unknown>;
  run(name: string, params?: object, caller?: Caller): Promise<unknown>;
  tap(tap: string): void;
  /** Settings and networks refuse what is asked. */
  refuses: boolean;
  /** In reach. */
  air: readonly WifiNetwork[];
  /** Networks answer when this has come. */
  slow: Promise<void>;
}

export interface BootOptions {
  readonly screen?: FakeDisplay;
  readonly config?: object;
  /** What is there before it starts. */
  readonly timers?: TimersState;
  readonly notifications?: readonly Notification[];
}

export async function boot(options: BootOptions = {}): Promise<Bench> {
  const screen = options.screen ?? new FakeDisplay();
  const table = new TestOperations();
  const clock = new VirtualClock({ now: NOW });
  const asked: string[] = [];
  const settings = new Map<string, unknown>();
  const said = new Map<string, { definition: IntentDefinition; run: (run: IntentRun) => Promise<unknown> }>();
  const states = new Set<(state: AudioState) => void>();
  const lists = new Set<(list: readonly Notification[]) => void>();
  const timed = new Set<(state: TimersState) => void>();
  let times: TimersState = options.timers ?? { running: [], ringing: [] };
  let wakes: AlarmsState = { alarms: [], ringing: [], missed: [], zone: 'UTC' };
  const waked = new Set<(state: AlarmsState) => void>();
  const appListeners = new Set<(status: AppStatus) => void>();
  const watchers = new Set<(change: ConfigChange) => void>();
  let sounds: AudioState = { volume: 0.4, muted: false, capturing: [], playing: [] };
  const sound = (state: Partial<AudioState>) => {
    sounds = { ...sounds, ...state };
    for (const listener of [...states]) listener(sounds);
  };
  const following = <T>(all: Set<T>, listener: T): Disposable => {
    all.add(listener);
    return { [Symbol.dispose]: () => void all.delete(listener) };
  };
  const status = (id: string, title: string, state: AppStatus['state']) =>
    ({ id, name: title, title, state }) as AppStatus;
  let there = [status('com.example.agenda', 'Agenda', 'running'), status('com.example.radio', 'Radio', 'stopped')];
  const bench = { refuses: false, air: AIR, slow: Promise.resolve() };
  const changeAir = async (what: string, ssid: string, change: (one: WifiNetwork) => Partial<WifiNetwork>) => {
    asked.push(`${what} ${ssid}`);
    await bench.slow;
    if (bench.refuses) throw new CoreError('NETWORK_REFUSED', { verb: what, ssid, reason: 'too far away' });
    bench.air = bench.air.map((one) => ({ ...one, ...change(one) }));
  };
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    clock,
    ...(options.config === undefined ? {} : { config: options.config }),
    services: [
      [operations, table],
      [display, screen.service],
      given(device, {
        info: async () =>
          ({
            sku: { id: 'test', title: 'Kitchen', simulated: true },
            core: { version: '1.0.0', api: '1.0.0' },
            startedAt: NOW - 1_000_000,
          }) as never,
      }),
      given(apps, {
        list: async () => there,
        start: async (app) => {
          asked.push(`start ${app}`);
          if (!there.some(({ id }) => id === app)) throw new CoreError('APP_NOT_FOUND', { app });
          return status(app, app, 'running');
        },
        onChange: (listener) => following(appListeners, listener),
      }),
      given(alarms, {
        state: async () => wakes,
        cancel: async (id) => asked.push(`cancel alarm ${id}`) > 0,
        snooze: async () => {
          asked.push('snooze');
          return { snoozed: 1, seconds: 540 };
        },
        silence: async () => asked.push('silence alarms'),
        onChange: (listener) => following(waked, listener),
      }),
      given(timers, {
        state: async () => times,
        set: async (seconds) => {
          asked.push(`timer ${seconds}`);
          return { id: 't9', at: NOW + seconds * 1_000, seconds, kept: true };
        },
        cancel: async (id) => asked.push(`cancel ${id}`) > 0,
        silence: async () => asked.push('silence') > 0,
        onChange: (listener) => following(timed, listener),
      }),
      given(audio, {
        setVolume: async (volume) => {
          asked.push(`volume ${volume}`);
          sound({ volume });
        },
        onState: (listener) => {
          listener(sounds);
          return following(states, listener);
        },
      }),
      given(voice, {
        mute: async (muted) => {
          asked.push(`mute ${muted}`);
          sound({ muted });
        },
      }),
      given(config, {
        list: async (_, prefix = '') =>
          [...settings]
            .filter(([key]) => key.startsWith(prefix))
            .map(([key, value]) => ({ key, value, source: 'device', revision: 1 })),
        set: async (scope, key, value) => {
          if (bench.refuses) throw new Error('the disk is full');
          asked.push(`set ${key} ${JSON.stringify(value)}`);
          settings.set(key, value);
          for (const listener of [...watchers]) listener({ scope, key, value, source: 'device', revision: 1 });
          return { key, value, source: 'device', revision: 1 };
        },
        watch: (_, listener) => following(watchers, listener),
      }),
      given(network, {
        networks: async () => bench.air,
        join: (ssid) =>
          changeAir('join', ssid, (one) => ({ joined: one.ssid === ssid, ...(one.ssid === ssid && { known: true }) })),
        forget: (ssid) =>
          changeAir('forget', ssid, (one) => (one.ssid === ssid ? { joined: false, known: false } : {})),
      }),
      given(ledger, {
        list: async () => [
          { id: '1', at: NOW, part: 'voice', for: 'voice', to: 'speech.example:443', what: 'audio', bytes: 48_200 },
        ],
      }),
      given(notifications, {
        list: async () => options.notifications ?? [],
        dismiss: async (id) => void asked.push(`dismiss ${id}`),
        onChange: (listener) => following(lists, listener),
      }),
      given(intents, {
        add: (definition, run) => {
          said.set(definition.id, { definition, run });
          return { [Symbol.asyncDispose]: async () => void said.delete(definition.id) };
        },
      }),
    ],
  });
  return Object.assign(bench, {
    host,
    screen,
    clock,
    asked,
    sound,
    timers: (state: Partial<TimersState>) => {
      times = { ...times, ...state };
      for (const listener of [...timed]) listener(times);
    },
    alarms: (state: Partial<AlarmsState>) => {
      wakes = { ...wakes, ...state };
      for (const listener of [...waked]) listener(wakes);
    },
    gone: (id: string) => {
      there = there.filter((one) => one.id !== id);
    },
    said: (id: string) => {
      const slot = said.get(id)?.definition.slots?.app;
      return slot?.kind === 'list' ? slot.values.map((value) => value.in).join(', ') : undefined;
    },
    apps: (list: readonly (readonly [id: string, title: string])[]) => {
      there = list.map(([id, title]) => status(id, title, 'running'));
      for (const listener of [...appListeners]) listener(status('any', 'any', 'stopped'));
    },
    notify: (list: readonly Notification[]) => {
      for (const listener of [...lists]) listener(list);
    },
    say: async (id: string, slots: Readonly<Record<string, string>> = {}) => {
      const known = said.get(id);
      assert.ok(known, `${id} can be said: ${[...said.keys()].join(', ')}`);
      const run = { slots, text: id, turn: 't', signal: new AbortController().signal, deadline: 0 };
      return await known.run(run);
    },
    run: (name: string, params: object = {}, caller: Caller = OPERATOR) => table.run(name, params, { caller }),
    tap: (tap: string) => screen.touch('home', { phase: 'tap', tap }),
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      assert.equal(clock.pending, 0);
    },
  });
}
