/** Which banner is shown, and which wait. Pure. */
import { maybe } from '@device-core/plugin-api';
import { type BannerRequest, LEVELS, type NewBanner } from './request.ts';

export interface Banner extends NewBanner {
  /** Key of the device, for the list. */
  readonly key: string;
  readonly at: number;
  /** Counts up with each change. */
  readonly version: number;
}

export interface BannerChange {
  readonly banner?: Banner;
  /** Gone for another one of the same app, or of those who have most. */
  readonly dropped: readonly Banner[];
  /** Taken away by its owner. */
  readonly gone?: Banner;
}

export class BannerQueue {
  readonly #limits: { readonly perApp: number; readonly most: number };
  readonly #newKey: () => string;
  /** In the order in which they take turns. */
  #banners: Banner[] = [];

  constructor(limits: { readonly perApp: number; readonly most: number }, newKey: () => string) {
    this.#limits = limits;
    this.#newKey = newKey;
  }

  get all(): readonly Banner[] {
    return this.#banners;
  }

  /** Banner to show: the most urgent; among equals the one whose turn it is. */
  get top(): Banner | undefined {
    const urgency = (one: Banner) => LEVELS.indexOf(one.level);
    return this.#banners.reduce<Banner | undefined>(
      (top, one) => (top === undefined || urgency(one) > urgency(top) ? one : top),
      undefined,
    );
  }

  /** Others that wait for its place with equal right. */
  get rivals(): number {
    const { top } = this;
    return this.#banners.filter((one) => one !== top && one.level === top?.level).length;
  }

  get(key: string): Banner | undefined {
    return this.#banners.find((one) => one.key === key);
  }

  /** The next of the same level has its turn. */
  turn(): void {
    const { top } = this;
    if (top) this.#banners = [...this.#banners.filter((one) => one !== top), top];
  }

  take(request: BannerRequest, now: number): BannerChange {
    const { app, behalf, id } = request.action === 'show' ? request.asked : request;
    const known =
      id === undefined
        ? undefined
        : this.#banners.find((one) => one.app === app && one.behalf === behalf && one.id === id);
    if (request.action === 'dismiss') {
      if (known) this.remove(known.key);
      return { ...maybe({ gone: known }), dropped: [] };
    }
    if (known) {
      const change = request.action === 'show' ? request.asked : request.change;
      const banner = { ...known, ...change, version: known.version + 1 };
      this.#banners = this.#banners.map((one) => (one === known ? banner : one));
      return { banner, dropped: [] };
    }
    if (request.action === 'update') return { dropped: [] };
    const banner: Banner = { ...request.asked, key: this.#newKey(), at: now, version: 1 };
    this.#banners.push(banner);
    return { banner, dropped: this.#bound(app, banner) };
  }

  remove(key: string): Banner | undefined {
    const found = this.get(key);
    this.#banners = this.#banners.filter((one) => one !== found);
    return found;
  }

  /** Those of an app that is gone. */
  removeOf(app: string): readonly Banner[] {
    const gone = this.#banners.filter((one) => one.app === app);
    this.#banners = this.#banners.filter((one) => one.app !== app);
    return gone;
  }

  #bound(app: string | undefined, newest: Banner): readonly Banner[] {
    const { perApp, most } = this.#limits;
    const own = this.#banners.filter((one) => one.app === app);
    const dropped: Banner[] = [];
    if (own.length > perApp) dropped.push(...own.slice(0, 1));
    // A full device makes room from the app's own banners alone.
    else if (this.#banners.length > most) dropped.push(own.find((one) => one !== newest) ?? newest);
    this.#banners = this.#banners.filter((one) => !dropped.includes(one));
    return dropped;
  }
}
