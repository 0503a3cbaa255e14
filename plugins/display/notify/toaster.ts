/** Toasts from being asked for to being seen: one at a time, each for its time. */
import { type Clock, maybe, type PluginHost } from '@device-core/plugin-api';
import type { Notification } from '@device-core/plugin-api/services/display';
import type { AppTitles } from './app-titles.ts';
import type { Floor } from './floor.ts';
import type { Screen } from './glass.ts';
import type { History } from './history.ts';
import type { Losses } from './losses.ts';
import type { ToastRequest } from './request.ts';
import { Stage } from './stage.ts';
import { type Dropped, type QueueLimits, type Toast, ToastQueue } from './toast-queue.ts';
import { toastScene } from './toast-scene.ts';

const DEFAULT_MS = 3_000;
const LEAST_MS = 1_000;
const MOST_MS = 10_000;
/** One that was there for less was hardly seen. */
const SEEN_MS = 1_000;

/** Parts that toasts and banners share. */
export interface Company {
  readonly host: Pick<PluginHost, 'scope' | 'log'> & { readonly clock: Clock };
  readonly display: Screen;
  readonly floor: Floor;
  readonly history: History;
  readonly titles: AppTitles;
  readonly losses: Losses;
  /** How the device calls itself. */
  readonly device: string;
  readonly newKey: () => string;
}

export class Toaster {
  readonly #company: Company;
  readonly #queue: ToastQueue;
  readonly stage: Stage<Toast>;
  /** Time since which the shown toast stands, and the timer of its end. */
  #since: number | undefined;
  #timer: Disposable | undefined;
  /** Version of the toast that the timer is of. */
  #timed: number | undefined;

  /** `atTop`: whether what is below has its buttons at the bottom. */
  constructor(company: Company, limits: QueueLimits, atTop: () => boolean) {
    const { host, display, titles, device } = company;
    this.#company = company;
    this.#queue = new ToastQueue(limits, company.newKey);
    this.stage = new Stage<Toast>({
      display,
      clock: host.clock,
      log: host.log,
      signal: host.scope.signal,
      surface: { id: 'toast', layer: 'toast' },
      wanted: () => this.#queue.showing,
      draw: (toast, former) =>
        toastScene(display, toast, {
          title: titles.of(toast.app),
          device,
          entering: former === undefined,
          top: atTop(),
        }),
      shown: (toast) => this.#shown(toast),
      failed: (toast, reason) => {
        host.log.warn({ app: toast.app, reason }, 'cannot draw a toast');
        this.#end(toast, 'dropped');
        this.look();
      },
    });
    host.scope.defer('time of a toast', () => this.#timer?.[Symbol.dispose]());
  }

  ask(asked: ToastRequest): void {
    const { floor, history, titles, device } = this.#company;
    const { toast, dropped } = this.#queue.ask(asked, floor.now());
    const known = history.get(toast.key);
    const { text, level, icon, app, count } = toast;
    history.put({
      id: toast.key,
      kind: 'toast',
      title: titles.of(app) ?? device,
      text,
      level,
      count,
      at: known?.at ?? this.#company.host.clock.now(),
      state: known?.state ?? 'waiting',
      ...maybe({ app, icon }),
    });
    this.#dropped(dropped);
    this.look();
  }

  /** Whether something is to be shown now, or to be shown no more. */
  look(): void {
    const { floor } = this.#company;
    const { showing } = this.#queue;
    if (showing && (!floor.open || this.#queue.interrupted)) {
      const seen = this.#since === undefined ? 0 : floor.now() - this.#since;
      if (seen >= SEEN_MS) this.#end(showing, 'shown');
      else this.#back(showing);
    }
    if (!this.#queue.showing && floor.open) this.#dropped(this.#queue.next(floor.now()).dropped);
    this.stage.look();
  }

  dismiss(key: string): void {
    this.#forgetTime(key);
    if (this.#queue.remove(key)) this.#company.history.state(key, 'dismissed');
    this.look();
  }

  /** A finger took away what is seen now. */
  dismissShown(): void {
    const key = this.stage.key;
    if (key !== undefined) this.dismiss(key);
  }

  #shown(toast: Toast): void {
    const { host, floor, history } = this.#company;
    if (this.#queue.showing?.key !== toast.key) return;
    history.state(toast.key, 'showing');
    this.#since ??= floor.now();
    // Drawn again at another place or size, it has no longer time.
    if (this.#timer && this.#timed === toast.version) return;
    this.#timed = toast.version;
    this.#timer?.[Symbol.dispose]();
    const ms = Math.min(MOST_MS, Math.max(LEAST_MS, toast.durationMs ?? DEFAULT_MS));
    this.#timer = host.clock.after(ms, () => {
      this.#end(toast, 'shown');
      this.look();
    });
  }

  #end({ key }: Toast, state: Notification['state']): void {
    this.#forgetTime(key);
    if (this.#queue.showing?.key !== key) return;
    this.#queue.done();
    this.#company.history.state(key, state);
  }

  #back({ key }: Toast): void {
    this.#forgetTime(key);
    this.#queue.back();
    this.#company.history.state(key, 'waiting');
  }

  #forgetTime(key: string): void {
    if (this.#queue.showing?.key !== key) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#since = undefined;
  }

  #dropped(dropped: readonly Dropped[]): void {
    const { losses, history } = this.#company;
    for (const { toast, reason } of dropped) {
      losses.add(toast.app, reason);
      history.state(toast.key, 'dropped');
    }
  }
}
