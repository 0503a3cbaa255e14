/** Which of the screens is seen, and the way back. Draws when something that is seen has changed, and never else. */
import { type Clock, CoreError, type Logger, maybe, reasonOf } from '@device-core/plugin-api';
import { directionOfLocale, type Scene } from '@device-core/plugin-api/scene';
import type { Display, SurfaceInput } from '@device-core/plugin-api/services/display';
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import { turnedPage } from '../shared/cards/index.ts';
import type { Facts } from './facts.ts';
import { boxOf, type Motion, moving } from './motion.ts';
import { drawScreen, type ScreenName } from './screens/index.ts';

export const SURFACE = 'home';
const FADE_MS = 160;
/** Steps back that are remembered. */
const MOST_STEPS = 16;
const UNSEEN: readonly string[] = ['CANCELLED', 'PANEL_UNAVAILABLE'];

interface Place {
  readonly screen: ScreenName;
  readonly page: number;
}

export interface GuideOptions {
  readonly display: Display;
  readonly clock: Clock;
  readonly log: Logger;
  /** Milliseconds without a touch until it is home again. */
  readonly idleMs: number;
  readonly facts: () => Facts;
  /** Handler of taps other than navigation. */
  readonly deed: (tap: string) => void;
  /** Work before a screen is entered and drawn. */
  readonly entering: (screen: ScreenName) => Promise<void> | undefined;
  /** Another screen is shown from now on. */
  readonly left: (screen: ScreenName) => void;
}

export class Guide implements Disposable {
  readonly #options: GuideOptions;
  #place: Place = { screen: 'home', page: 0 };
  #steps: Place[] = [];
  #surroundings: Surroundings | undefined;
  #shown: Scene | undefined;
  #said = '';
  #motion: Motion | undefined;
  #drawing: Promise<void> | undefined;
  #again = false;
  #idle: Disposable | undefined;
  #over = false;

  constructor(options: GuideOptions) {
    this.#options = options;
  }

  get screen(): ScreenName {
    return this.#place.screen;
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#idle?.[Symbol.dispose]();
  }

  surroundings(surroundings: Surroundings): void {
    this.#surroundings = surroundings;
    void this.draw();
  }

  /** Resolves when it is in the tree. */
  async go(screen: ScreenName, motion: Motion = { kind: 'fade' }): Promise<void> {
    if (screen === 'home') return await this.home(motion);
    await this.#options.entering(screen);
    if (screen !== this.#place.screen) {
      this.#steps.push(this.#place);
      if (this.#steps.length > MOST_STEPS) this.#steps.shift();
    }
    await this.#goTo({ screen, page: 0 }, motion);
  }

  async home(motion: Motion = { kind: 'back' }): Promise<void> {
    this.#steps = [];
    if (this.#place.screen === 'home') return await this.draw();
    await this.#goTo({ screen: 'home', page: 0 }, motion);
  }

  async back(): Promise<void> {
    const former = this.#steps.pop();
    await (former === undefined ? this.home() : this.#goTo(former, { kind: 'back' }));
  }

  input({ phase, tap, direction, key }: SurfaceInput): void {
    this.#watchIdle();
    if (phase === 'key' && key === 'home') return void this.home();
    void this.#heed({
      phase,
      ...maybe({ tap, direction }),
    });
  }

  /** Draws at most twice: one drawing runs, one waits. Resolves when the facts of this call are in the tree. */
  draw(motion?: Motion): Promise<void> {
    this.#motion = motion ?? this.#motion;
    this.#again = true;
    this.#drawing ??= this.#run();
    return this.#drawing;
  }

  async #heed(input: { readonly phase: string; readonly tap?: string; readonly direction?: string }): Promise<void> {
    const { tap = '' } = input;
    const turned = this.#shown && turnedPage(this.#shown, input);
    if (turned !== undefined) {
      const further = turned > this.#place.page;
      return await this.#goTo({ ...this.#place, page: turned }, { kind: 'turn', further });
    }
    if (input.phase === 'swipe') return await this.#swiped(input.direction);
    if (input.phase !== 'tap') return;
    if (tap === 'back') await this.back();
    else if (tap.startsWith('go.')) {
      const box = this.#shown && boxOf(this.#shown.nodes, tap);
      const from =
        this.#place.screen === 'home' && box ? ({ kind: 'tile', box } as const) : ({ kind: 'deeper' } as const);
      await this.go(tap.slice(3) as ScreenName, from);
    } else if (tap !== '') this.#options.deed(tap);
  }

  async #swiped(direction: string | undefined): Promise<void> {
    const back = this.#dir === 'rtl' ? 'left' : 'right';
    if (this.#place.screen !== 'home') return direction === back ? await this.back() : undefined;
    if (direction === 'up') await this.go('apps', { kind: 'deeper' });
    else if (direction === 'down') await this.go('notifications', { kind: 'deeper' });
  }

  get #dir() {
    return directionOfLocale(this.#surroundings?.locale ?? 'en');
  }

  async #goTo(place: Place, motion: Motion): Promise<void> {
    const { screen } = this.#place;
    this.#place = place;
    if (screen !== place.screen) this.#options.left(screen);
    this.#watchIdle();
    await this.draw(motion);
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#over) {
      this.#again = false;
      const motion = this.#motion;
      this.#motion = undefined;
      try {
        await this.#drawOnce(motion);
      } catch (thrown) {
        const { log } = this.#options;
        const said = { screen: this.#place.screen, reason: reasonOf(thrown) };
        // The renderer was stopped, or there is none yet: nothing is seen, and with the next one the display has another state.
        const unseen = thrown instanceof CoreError && UNSEEN.includes(thrown.code);
        log[unseen ? 'debug' : 'warn'](said, 'cannot draw a screen of the device');
      }
    }
    // In the same turn as the last look at it: who asks from here on begins anew.
    this.#drawing = undefined;
  }

  async #drawOnce(motion: Motion | undefined): Promise<void> {
    const { display, clock, facts } = this.#options;
    const surroundings = this.#surroundings;
    if (surroundings === undefined) return;
    const { screen, page } = this.#place;
    const drawing = { facts: facts(), surroundings, page, now: clock.now() };
    const scene = await drawScreen(screen, drawing, (texts) => display.measure(texts));
    const said = JSON.stringify(scene);
    // An equal scene is not drawn again: its timelines would begin anew, too.
    if (said === this.#said && motion === undefined) return;
    const moved = moving(scene, motion, this.#dir);
    await display.put({
      id: SURFACE,
      layer: 'home',
      scene: moved,
      // A viewer who could scan its code would become what the code is for.
      sensitive: screen === 'pairing',
      ...(motion === undefined ? {} : { fadeMs: FADE_MS }),
    });
    this.#shown = moved;
    this.#said = said;
  }

  /** Timer of the way home; it runs only while another screen is seen. */
  #watchIdle(): void {
    this.#idle?.[Symbol.dispose]();
    this.#idle = undefined;
    const { screen } = this.#place;
    if (screen === 'home' || this.#over) return;
    this.#idle = this.#options.clock.after(this.#options.idleMs, () => void this.home({ kind: 'fade' }));
  }
}
