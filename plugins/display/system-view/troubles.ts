/** What is wrong with the device now, and the one line that says it. Pure. */
import type { Notice } from './signs.ts';
import type { Strings } from './strings/index.ts';

/** `system.power`: battery, charger, and the end. Other states say nothing. */
export interface Power {
  readonly source?: unknown;
  readonly level?: unknown;
  readonly state?: unknown;
  readonly reason?: unknown;
}

const LOW = 0.15;
/** A plugin in one of these does not work. */
const BROKEN: readonly unknown[] = ['failed', 'quarantined'];
export class Troubles {
  readonly #broken = new Set<string>();
  #power: Power = {};
  #offline = false;
  #sound: string | undefined;

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
    const percent = typeof level === 'number' ? ` ${Math.round(level * 100)} %` : '';
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
    if (this.#offline) return { level: 'info', icon: 'offline', text: words.offline };
    return plugged ? { level: 'info', icon: 'power', text: `${words.charging}${percent}` } : undefined;
  }

  #isLow(): boolean {
    const { state, source, level } = this.#power;
    if (this.charging || this.shuttingDown) return false;
    return (
      state === 'low' || state === 'critical' || (source === 'battery' && typeof level === 'number' && level <= LOW)
    );
  }
}
