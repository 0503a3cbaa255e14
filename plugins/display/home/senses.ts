/** Keeps the facts: each service that is there tells its part, and what goes takes its part along. */
import { networkInterfaces } from 'node:os';
import { type PluginHost, reasonOf } from '@device-core/plugin-api';
import { type DeparturesLedger, ledger } from '@device-core/plugin-api/inside/services/ledger';
import { type Alarms, type AlarmsState, alarms } from '@device-core/plugin-api/services/alarms';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { type Audio, audio } from '@device-core/plugin-api/services/audio';
import { type Config, config } from '@device-core/plugin-api/services/config';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import {
  type Display,
  type Notification,
  type Notifications,
  notifications,
} from '@device-core/plugin-api/services/display';
import { type Network, network } from '@device-core/plugin-api/services/network';
import { type Timers, type TimersState, timers } from '@device-core/plugin-api/services/timers';
import { type Voice, voice } from '@device-core/plugin-api/services/voice';
import type { Facts, Problem } from './facts.ts';

/** Services that the deeds use. */
export interface Hands {
  display: Display;
  apps?: Apps | undefined;
  audio?: Audio | undefined;
  voice?: Voice | undefined;
  config?: Config | undefined;
  ledger?: DeparturesLedger | undefined;
  notifications?: Notifications | undefined;
  timers?: Timers | undefined;
  alarms?: Alarms | undefined;
  /** Service for joining and forgetting networks, where the panel may. */
  network?: Network | undefined;
}

const MOST_DEPARTURES = 50;
const BROKEN: readonly unknown[] = ['failed', 'quarantined'];

export class Senses {
  readonly hands: Hands;
  readonly #host: PluginHost;
  readonly #changed: () => void;
  readonly #wifi: boolean;
  #round = 0;
  /** The device left a slot, and no person has confirmed it. */
  #fellBack = false;
  readonly #broken = new Map<string, string>();
  /** Broken plugins that the person has hidden; one that works in between is shown again. */
  readonly #hidden = new Set<string>();
  #facts: Facts;

  constructor(host: PluginHost<{ readonly wifi: boolean }>, display: Display, device: DeviceInfo, changed: () => void) {
    this.hands = { display };
    this.#host = host;
    this.#changed = changed;
    this.#wifi = host.config.wifi;
    this.#facts = {
      notifications: [],
      apps: [],
      timers: [],
      ringing: [],
      alarms: [],
      ringingAlarms: [],
      departures: [],
      microphone: 'none',
      addresses: addresses(),
      device: {
        title: device.sku.title,
        version: device.core.version,
        simulated: device.sku.simulated,
        startedAt: device.startedAt,
      },
    };
  }

  get facts(): Facts {
    return this.#facts;
  }

  change(part: { readonly [K in keyof Facts]?: Facts[K] | undefined }): void {
    const next = { ...this.#facts, ...part };
    this.#facts = Object.fromEntries(
      Object.entries(next).filter(([, value]) => value !== undefined),
    ) as unknown as Facts;
    this.#changed();
  }

  /** Reads the facts that no service announces, before a screen shows them. */
  async look(): Promise<void> {
    const { ledger, config, voice } = this.hands;
    const [departures, localOnly, theme] = await Promise.all([
      ledger?.list({ limit: MOST_DEPARTURES }) ?? [],
      voice && config ? this.#setting('voice.localOnly').then((value) => value === true) : undefined,
      this.#setting('display.theme'),
    ]);
    this.change({
      departures,
      localOnly,
      addresses: addresses(),
      theme: typeof theme === 'string' ? theme : undefined,
    });
  }

  /** A look round may take half a minute: what is in reach is shown when it is known. */
  async lookRound(): Promise<void> {
    const round = ++this.#round;
    const wifi = await this.hands.network?.networks().catch((thrown: unknown) => {
      this.#host.log.debug({ reason: reasonOf(thrown) }, 'no Wi-Fi can be asked');
      return undefined;
    });
    if (round === this.#round) this.change({ wifi, addresses: addresses() });
  }

  async #setting(key: string): Promise<unknown> {
    const entries = (await this.hands.config?.list({}, key)) ?? [];
    return entries.find((entry) => entry.key === key)?.value;
  }

  /** Follows the services from now on; present facts arrive at once. */
  listen(): void {
    const host = this.#host;
    host.when(notifications, (service, scope) => {
      this.hands.notifications = service;
      const told = (list: readonly Notification[]) => this.change({ notifications: list.filter(open) });
      scope.use('notifications', service.onChange(told));
      scope.defer('notifications', () => {
        this.hands.notifications = undefined;
        this.change({ notifications: [] });
      });
      void service.list().then(told, (thrown: unknown) => this.#cannot('list notifications', thrown));
    });
    host.when(apps, (service, scope) => {
      this.hands.apps = service;
      const told = () =>
        void service.list().then(
          (list) =>
            this.change({
              apps: list.map(({ id, title, state }) => ({ id, title: title || id, running: state === 'running' })),
            }),
          (thrown: unknown) => this.#cannot('list apps', thrown),
        );
      scope.use('apps', service.onChange(told));
      scope.defer('apps', () => {
        this.hands.apps = undefined;
        this.change({ apps: [] });
      });
      told();
    });
    host.when(audio, (service, scope) => {
      this.hands.audio = service;
      scope.use(
        'sound',
        service.onState((state) => this.change({ audio: state, microphone: state.muted ? 'off' : 'on' })),
      );
      scope.defer('sound', () => {
        this.hands.audio = undefined;
        this.change({ audio: undefined, microphone: 'none' });
      });
    });
    host.when(voice, (service, scope) => {
      this.hands.voice = service;
      scope.defer('voice', () => {
        this.hands.voice = undefined;
      });
    });
    host.when(config, (service, scope) => {
      this.hands.config = service;
      scope.use(
        'settings',
        service.watch({}, ({ key }) => {
          if (key === 'display.theme' || key === 'voice.localOnly')
            void this.look().catch((thrown: unknown) => this.#cannot('look at settings', thrown));
        }),
      );
      scope.defer('settings', () => {
        this.hands.config = undefined;
      });
    });
    if (this.#wifi)
      host.when(network, (service, scope) => {
        this.hands.network = service;
        scope.defer('networks', () => {
          this.hands.network = undefined;
          this.change({ wifi: undefined });
        });
      });
    host.when(ledger, (service, scope) => {
      this.hands.ledger = service;
      scope.defer('ledger', () => {
        this.hands.ledger = undefined;
      });
    });
    host.when(timers, (service, scope) => {
      this.hands.timers = service;
      const told = ({ running, ringing }: TimersState) => this.change({ timers: running, ringing });
      scope.use('timers', service.onChange(told));
      scope.defer('timers', () => {
        this.hands.timers = undefined;
        this.change({ timers: [], ringing: [] });
      });
      void service.state().then(told, (thrown: unknown) => this.#cannot('list timers', thrown));
    });
    host.when(alarms, (service, scope) => {
      this.hands.alarms = service;
      const told = ({ alarms, ringing }: AlarmsState) =>
        this.change({ alarms: alarms.filter(({ next }) => next !== undefined), ringingAlarms: ringing });
      scope.use('alarms', service.onChange(told));
      scope.defer('alarms', () => {
        this.hands.alarms = undefined;
        this.change({ alarms: [], ringingAlarms: [] });
      });
      void service.state().then(told, (thrown: unknown) => this.#cannot('list alarms', thrown));
    });
    host.bus.subscribe('system.boot', ({ payload }) => {
      this.#fellBack = (payload as { readonly fellBack?: object }).fellBack !== undefined;
      this.#tellProblem();
    });
    host.bus.subscribe('plugin.state', ({ payload }) => this.#plugin(payload as { plugin: string; state: string }));
  }

  #plugin({ plugin, state }: { readonly plugin: string; readonly state: string }): void {
    const before = this.#broken.size;
    if (BROKEN.includes(state)) this.#broken.set(plugin, state);
    else this.#broken.delete(plugin);
    // While it is tried again it is the same fault.
    if (state === 'active') this.#hidden.delete(plugin);
    if (before === 0 && this.#broken.size === 0) return;
    this.#tellProblem();
  }

  /** Hides the problem until another fault comes. */
  hideProblem(): void {
    if (this.#facts.problem?.kind === 'fellBack') this.#fellBack = false;
    for (const plugin of this.#broken.keys()) this.#hidden.add(plugin);
    this.#tellProblem();
  }

  #tellProblem(): void {
    const broken = [...this.#broken].filter(([plugin]) => !this.#hidden.has(plugin));
    const [first] = broken;
    const count = broken.length;
    const what = broken.map(([plugin]) => plugin).join(', ');
    const back: Problem | undefined = this.#fellBack ? { kind: 'fellBack', code: 'BOOT_FELL_BACK' } : undefined;
    const failed: Problem | undefined = first && { kind: 'failed', what, code: first[1], ...(count > 1 && { count }) };
    this.change({ problem: failed ?? back });
  }

  #cannot(what: string, thrown: unknown): void {
    this.#host.log.warn({ reason: reasonOf(thrown) }, `cannot ${what}`);
  }
}

const open = ({ state }: Notification): boolean => state !== 'dismissed' && state !== 'dropped';

function addresses(): Facts['addresses'] {
  return Object.entries(networkInterfaces()).flatMap(([name, found]) =>
    (found ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4')
      .map(({ address }) => ({ name, address })),
  );
}
