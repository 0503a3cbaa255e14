/** Look of all drawing, from everything that has a say: the SKU, the person, the hour, and the battery. */
import type { Scope } from '@device-core/plugin-api';
import type { SurroundingsSeam } from '../seams.ts';
import type { DeviceSettings } from './device-settings.ts';
import { isNight, type NightHours, untilChange } from './hours.ts';
import type { Themes } from './themes.ts';

/** Longest wait in milliseconds: the system's time may be set meanwhile, unnoticed. */
const MOST_WAIT_MS = 3_600_000;
const LOW_FPS = 15;

export interface Defaults extends Required<Omit<DeviceSettings, 'brightness'>> {
  readonly fps: number;
}

export interface LookOptions {
  readonly scope: Scope;
  readonly seam: SurroundingsSeam;
  readonly themes: Themes;
  readonly hours: NightHours;
  /** Values as long as no person chose others. */
  readonly defaults: Defaults;
  /** It is night now, or no longer. */
  readonly night: (night: boolean) => void;
}

export class Look {
  readonly #options: LookOptions;
  #settings: DeviceSettings = {};
  #defaults: Defaults;
  #low = false;
  #night: boolean | undefined;
  #asleep = false;
  #timer: Disposable | undefined;

  constructor(options: LookOptions) {
    this.#options = options;
    this.#defaults = options.defaults;
    this.#look();
  }

  use(settings: DeviceSettings): void {
    this.#settings = settings;
    this.#look();
  }

  /** The configuration says something else. */
  useDefaults(defaults: Defaults): void {
    this.#defaults = defaults;
    this.#look();
  }

  /** The battery is low: fewer frames, no shadows, no motion. */
  low(low: boolean): void {
    this.#low = low;
    this.#look();
  }

  /** A dark panel needs no change by the hour. */
  asleep(asleep: boolean): void {
    if (asleep === this.#asleep) return;
    this.#asleep = asleep;
    this.#look();
  }

  #look(): void {
    const { scope, seam, themes, hours, night } = this.#options;
    const defaults = this.#defaults;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (this.#asleep) return;
    const { theme, textScale, reducedMotion, locale, timeZone } = { ...defaults, ...this.#settings };
    const now = scope.clock.now();
    const before = this.#night;
    this.#night = isNight(now, timeZone, hours);
    const low = this.#low;
    seam.change({
      theme: themes[theme === 'auto' ? (this.#night ? 'night' : 'day') : theme],
      textScale,
      locale,
      timeZone,
      plain: low,
      reducedMotion: reducedMotion || low,
      fps: low ? Math.min(LOW_FPS, defaults.fps) : defaults.fps,
    });
    if (this.#night !== before) night(this.#night);
    if (scope.signal.aborted) return;
    const wait = Math.min(MOST_WAIT_MS, untilChange(now, timeZone, hours));
    this.#timer = scope.timeout('hours of the night', wait, () => this.#look());
  }
}
