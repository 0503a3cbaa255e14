/** Banners from being asked for to being dismissed: one is shown, others of its level take turns with it. */
import { maybe } from '@device-core/plugin-api';
import type { Notification, SurfaceInput } from '@device-core/plugin-api/services/display';
import { type Banner, BannerQueue } from './banner-queue.ts';
import { bannerScene, buttonOf, DISMISS } from './banner-scene.ts';
import type { BannerRequest, Button } from './request.ts';
import { Stage } from './stage.ts';
import type { Company } from './toaster.ts';

/** With others of the same level waiting, one stays so long. */
const TURN_MS = 10_000;
/** A finger that was on its way to what stood there before presses nothing. */
const ARMED_MS = 500;

interface View {
  readonly key: string;
  readonly version: number;
  readonly banner: Banner;
  readonly more: number;
}

export interface BannerLimits {
  readonly perApp: number;
  readonly most: number;
}

/** Act of the person on a banner; `own`: the app asked for the banner itself. */
export type Answer = { readonly app: string; readonly own: boolean; readonly id?: string } & (
  | { readonly action: 'press'; readonly button: Button['id'] }
  | { readonly action: 'dismiss' }
);

export class BannerBoard {
  readonly #company: Company;
  readonly #queue: BannerQueue;
  readonly #most: number;
  readonly #answered: (answer: Answer) => void;
  readonly stage: Stage<View>;
  /** Milliseconds for which each was seen so far. */
  readonly #seen = new Map<string, number>();
  #now: { readonly key: string; readonly since: number } | undefined;
  #timer: Disposable | undefined;

  constructor(company: Company, limits: BannerLimits, answered: (answer: Answer) => void) {
    const { host, display, titles, device } = company;
    this.#company = company;
    this.#queue = new BannerQueue(limits, company.newKey);
    this.#most = limits.most;
    this.#answered = answered;
    this.stage = new Stage<View>({
      display,
      clock: host.clock,
      log: host.log,
      signal: host.scope.signal,
      surface: { id: 'banner', layer: 'banner' },
      wanted: () => this.#wanted(),
      draw: ({ banner, more }, former) =>
        bannerScene(display, banner, { title: titles.of(banner.app), device, former: former?.banner, more }),
      shown: ({ banner }) => this.#shown(banner),
      failed: ({ banner: { app } }, reason) => host.log.warn({ app, reason }, 'cannot draw a banner'),
    });
    host.scope.defer('time of a banner', () => this.#timer?.[Symbol.dispose]());
  }

  take(request: BannerRequest): void {
    const { host, history, titles, device, losses } = this.#company;
    const { banner, dropped, gone } = this.#queue.take(request, host.clock.monotonic());
    if (banner) {
      const known = history.get(banner.key);
      const { text, level, icon, app, progress, buttons } = banner;
      history.put({
        id: banner.key,
        kind: 'banner',
        title: titles.of(app) ?? device,
        text,
        level,
        count: banner.version,
        at: known?.at ?? host.clock.now(),
        state: known?.state ?? 'waiting',
        ...maybe({ app, icon, progress, buttons }),
      });
    }
    for (const one of dropped) {
      losses.add(one.app, 'full');
      this.#over(one, 'dropped');
    }
    if (gone) this.#over(gone, 'dismissed');
    this.look();
  }

  look(): void {
    const { floor } = this.#company;
    const top = floor.open ? this.#queue.top : undefined;
    if (this.#now && this.#now.key !== top?.key) {
      const { key, since } = this.#now;
      if (this.#queue.get(key)) {
        this.#seen.set(key, (this.#seen.get(key) ?? 0) + floor.now() - since);
        this.#company.history.state(key, 'waiting');
      }
      this.#now = undefined;
    }
    this.#arm();
    this.stage.look();
  }

  dismiss(key: string): void {
    const banner = this.#queue.remove(key);
    if (banner) this.#over(banner, 'dismissed');
    this.look();
  }

  /** The app is gone: its banners are dropped without an answer. */
  goneWith(app: string): void {
    for (const banner of this.#queue.removeOf(app)) this.#over(banner, 'dropped');
    this.look();
  }

  touched({ tap, phase }: SurfaceInput): void {
    const { floor } = this.#company;
    const banner = this.#now && this.#queue.get(this.#now.key);
    if (!banner || !this.#now || floor.now() - this.#now.since < ARMED_MS) return;
    const index = phase === 'tap' ? buttonOf(tap) : undefined;
    const button = index === undefined ? undefined : banner.buttons?.[index];
    const dismissed = phase === 'swipe' || (phase === 'tap' && tap === DISMISS);
    if (!button && !dismissed) return;
    this.dismiss(banner.key);
    const { app, id, behalf } = banner;
    if (app === undefined) return;
    const what = { app, own: behalf !== true, ...maybe({ id }) };
    this.#answered(button ? { ...what, action: 'press', button: button.id } : { ...what, action: 'dismiss' });
  }

  #wanted(): View | undefined {
    const { top, rivals } = this.#queue;
    if (!top || !this.#company.floor.open) return undefined;
    const more = Math.min(rivals, this.#most);
    return { key: top.key, version: top.version * (this.#most + 1) + more, banner: top, more };
  }

  #shown({ key }: Banner): void {
    if (!this.#queue.get(key)) return;
    if (this.#now?.key !== key) this.#now = { key, since: this.#company.floor.now() };
    this.#company.history.state(key, 'showing');
    this.#arm();
  }

  #over({ key }: Banner, state: Notification['state']): void {
    this.#seen.delete(key);
    this.#company.history.state(key, state);
  }

  /** The one timer: the end of its time, or of its turn. */
  #arm(): void {
    const { host, floor } = this.#company;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const banner = this.#now && this.#queue.get(this.#now.key);
    if (!banner || !this.#now || !floor.open) return;
    const seen = floor.now() - this.#now.since;
    const left = (banner.durationMs ?? Number.POSITIVE_INFINITY) - (this.#seen.get(banner.key) ?? 0) - seen;
    const turn = this.#queue.rivals > 0 ? TURN_MS - seen : Number.POSITIVE_INFINITY;
    const ms = Math.max(0, Math.min(left, turn));
    if (ms === Number.POSITIVE_INFINITY) return;
    this.#timer = host.clock.after(ms, () => {
      if (left <= turn) {
        this.#queue.remove(banner.key);
        this.#over(banner, 'shown');
      } else this.#queue.turn();
      this.look();
    });
  }
}
