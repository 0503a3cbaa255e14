/** Troubles of the device now, and the one line for them. Pure. */
import type { Notice } from './signs.ts';
import type { Strings } from './strings/index.ts';

/** `system.power`: battery, charger, and the end. Other states say nothing. */
export interface Power {
  readonly source?: unknown;
  readonly level?: unknown;
  readonly state?: unknown;
  readonly reason?: unknown;
}

/** Members of `update.state` that the panel shows. */
export interface Update {
  readonly state?: unknown;
  readonly version?: unknown;
  readonly percent?: unknown;
  readonly reason?: unknown;
}

const LOW = 0.15;
/** An update in one of these is over, and it did not go well. */
export const GONE_WRONG: readonly unknown[] = ['rolled-back', 'failed'];
/** A plugin in one of these does not work. */
const BROKEN: readonly unknown[] = ['failed', 'quarantined'];
export class Troubles {
  readonly #broken = new Set<string>();
  #power: Power = {};
  #offline = false;
  #sound: string | undefined;
  #update: Update = {};
  /** Outcome of the update is shown for a while only. */
  #tellsEnd = false;

  plugin(id: string, state: unknown): void {
    if (BROKEN.includes(state)) this.#broken.add(id);
    else this.#broken.delete(id);
  }

  power(power: Power): void {
    this.#power = power;
  }

  network(state: unknown): void {
    this.#offline = state === 'offline';
  }

  /** True where the update just ended badly: the caller ends `updateOver` later. */
  update(update: Update): boolean {
    const wrong = GONE_WRONG.includes(update.state);
    const news = wrong && this.#update.state !== update.state;
    this.#update = update;
    this.#tellsEnd = wrong && (news || this.#tellsEnd);
    return news;
  }

  updateOver(): void {
    this.#tellsEnd = false;
  }

  sound(problem: string | undefined): void {
    this.#sound = problem;
  }

  get shuttingDown(): boolean {
    return this.#power.state === 'shutting-down';
  }

  get reason(): string | undefined {
    return typeof this.#power.reason === 'string' ? this.#power.reason : undefined;
  }

  get charging(): boolean {
    return this.#power.state === 'charging';
  }

  /** The most urgent of all; others follow when it is over. `plugged`: the charger was plugged in just now. */
  notice(plugged: boolean, { troubles: words }: Pick<Strings, 'troubles'>): Notice | undefined {
    const { level } = this.#power;
    const percent = typeof level === 'number' ? ` ${words.percent(Math.round(level * 100))}` : '';
    if (this.#isLow()) return { level: 'warn', icon: 'power', text: `${words.low}${percent}` };
    const broken = [...this.#broken].sort();
    const [first] = broken;
    if (first !== undefined) {
      const text =
        broken.length === 1
          ? (words.failed[first] ?? words.fails(first))
          : words.many(broken.length, broken.join(', '));
      return { level: 'error', icon: 'error', text };
    }
    if (this.#sound !== undefined) return { level: 'error', icon: 'silent', text: words.sound(this.#sound) };
    const updating = this.#updating(words);
    if (updating) return updating;
    if (this.#offline) return { level: 'info', icon: 'offline', text: words.offline };
    return plugged ? { level: 'info', icon: 'power', text: `${words.charging}${percent}` } : undefined;
  }

  #updating({ update: words, percent: share }: Strings['troubles']): Notice | undefined {
    const { state, percent, reason } = this.#update;
    const version = typeof this.#update.version === 'string' ? this.#update.version : '';
    const why = typeof reason === 'string' ? reason : '';
    const done = typeof percent === 'number' ? ` ${share(Math.floor(percent))}` : '';
    if (state === 'downloading' || state === 'verifying')
      return { level: 'info', icon: 'power', text: `${words.brings(version)}${done}` };
    if (state === 'activating') return { level: 'info', icon: 'power', text: words.restarts(version) };
    if (state === 'probation') return { level: 'info', icon: 'power', text: words.tries(version) };
    if (!this.#tellsEnd) return undefined;
    const text = state === 'rolled-back' ? words.back(version) : words.fails(version);
    return { level: 'warn', icon: 'error', text: why === '' ? text : `${text}: ${why}` };
  }

  #isLow(): boolean {
    const { state, source, level } = this.#power;
    if (this.charging || this.shuttingDown) return false;
    return (
      state === 'low' || state === 'critical' || (source === 'battery' && typeof level === 'number' && level <= LOW)
    );
  }
}
