/**
 * State machine of the foreground, without time, tree or apps, so that every order of events can be tested. There is one
 * foreground at most; an app that wants it without the person's wish waits.
 */
import type { SurfaceState } from '@device-core/plugin-api/services/display';

export interface FocusRules {
  /** Milliseconds without touch or voice after which the foreground ends. */
  readonly idleMs: number;
  /** Milliseconds for which an app that the person opened may come to the foreground by itself. */
  readonly openMs: number;
}

export class FocusMachine {
  readonly #rules: FocusRules;
  /** Apps with a surface. */
  readonly #shown = new Map<string, { keep: boolean }>();
  /** Apps that the person wants to see, and until when. */
  readonly #wanted = new Map<string, number>();
  #foreground: string | undefined;
  #covered = false;
  #since = 0;

  constructor(rules: FocusRules) {
    this.#rules = rules;
  }

  get foreground(): string | undefined {
    return this.#foreground;
  }

  get apps(): readonly string[] {
    return [...this.#shown.keys()];
  }

  has(app: string): boolean {
    return this.#shown.has(app);
  }

  stateOf(app: string): SurfaceState {
    if (app !== this.#foreground) return 'hidden';
    return this.#covered ? 'covered' : 'foreground';
  }

  /** It has something to show. False: it is not in the foreground, and was not allowed to come there. */
  show(
    app: string,
    now: number,
    { mayShowItself, keep }: { readonly mayShowItself: boolean; readonly keep: boolean },
  ): boolean {
    this.#shown.set(app, { keep });
    if (this.#foreground === app) return true;
    const wanted = this.wants(app, now);
    if (!wanted && !(mayShowItself && this.#foreground === undefined)) return false;
    this.#take(app, now);
    return true;
  }

  /** Does the person want to see this app? */
  wants(app: string, now: number): boolean {
    return now < (this.#wanted.get(app) ?? Number.NEGATIVE_INFINITY);
  }

  /** The person opened it. False: it has nothing to show yet, and may do so for a while. */
  open(app: string, now: number): boolean {
    for (const [one, until] of this.#wanted) if (until <= now) this.#wanted.delete(one);
    this.#wanted.set(app, now + this.#rules.openMs);
    if (!this.#shown.has(app)) return false;
    this.#take(app, now);
    return true;
  }

  /** It takes its surface away, or is gone. */
  hide(app: string): void {
    this.#shown.delete(app);
    if (this.#foreground === app) this.#foreground = undefined;
  }

  gone(app: string): void {
    this.hide(app);
    this.#wanted.delete(app);
  }

  /** Returns to the device's own screen. Surfaces are kept, and waiting wishes for the foreground end. */
  home(): void {
    this.#foreground = undefined;
    this.#wanted.clear();
  }

  cover(covered: boolean): void {
    this.#covered = covered;
  }

  /** A person touched or spoke: the idle time begins anew. */
  touched(now: number): void {
    this.#since = now;
  }

  /** Time at which the foreground ends without a touch; undefined where it does not end. */
  get endsAt(): number | undefined {
    const { foreground } = this;
    if (foreground === undefined || this.#shown.get(foreground)?.keep) return undefined;
    return this.#since + this.#rules.idleMs;
  }

  /** It is in the foreground and asked that the panel stay lit. */
  get keeps(): boolean {
    return this.#foreground !== undefined && this.#shown.get(this.#foreground)?.keep === true;
  }

  /** True where the foreground ended. */
  idle(now: number): boolean {
    const { endsAt } = this;
    if (endsAt === undefined || now < endsAt) return false;
    this.home();
    return true;
  }

  #take(app: string, now: number): void {
    this.#wanted.delete(app);
    this.#foreground = app;
    this.#since = now;
  }
}
