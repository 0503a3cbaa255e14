/** Surfaces of apps: one each, in the one layer that is theirs, and seen in the foreground alone. */

import { type Caller, type Capabilities, type Clock, CoreError, type Logger } from '@device-core/plugin-api';
import {
  type Card,
  checkCard,
  checkScene,
  isCard,
  patchScene,
  type Scene,
  type ScenePatch,
} from '@device-core/plugin-api/scene';
import { type AppStatus, type Apps, stateText } from '@device-core/plugin-api/services/apps';
import type { SurfaceInput, SurfaceState } from '@device-core/plugin-api/services/display';
import { LAYERS, type RendererReport } from '@device-core/plugin-api/services/renderer';
import { AppCosts } from './app-costs.ts';
import { AppImages } from './app-images.ts';
import type { AppVoice } from './app-voice.ts';
import { FocusMachine, type FocusRules } from './focus.ts';
import { SLOWED_FPS } from './paint-budget.ts';
import { PatchRate } from './patch-rate.ts';
import type { Focus, Screen } from './screen.ts';
import { coverOfApps } from './tree.ts';

/** Frames a second of what lies under something else: as good as still. */
const COVERED_FPS = 1;
const FADE_MS = 200;
const OPERATOR = 'operator';

export interface AppSurfaceRules extends FocusRules {
  /** Ids of apps that may come to the foreground by themselves while home shows; `*` is all. */
  readonly autoShow: readonly string[];
  readonly patchesPerSecond: number;
  readonly patchBurst: number;
  /** CPU milliseconds a frame. */
  readonly paintMs: number;
}

export interface AppSurfacesOptions {
  readonly screen: Screen;
  readonly clock: Clock;
  readonly log: Logger;
  readonly capabilities: Capabilities;
  readonly voice: AppVoice;
  readonly rules: AppSurfaceRules;
  /** An app waits to be opened, or does no longer. */
  readonly offer: (app: string, title: string | undefined) => void;
}

export interface Shown {
  readonly state: SurfaceState | 'queued';
  readonly version: number;
}

export class AppSurfaces implements Focus {
  readonly #options: AppSurfacesOptions;
  readonly #machine: FocusMachine;
  readonly #rate: PatchRate;
  readonly #images: AppImages;
  readonly costs: AppCosts;
  /** State last sent to each app. */
  readonly #told = new Map<string, SurfaceState>();
  /** A call of an app is done before its next one begins. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #listeners = new Set<() => void>();
  #apps: Apps | undefined;
  #timer: Disposable | undefined;

  constructor(options: AppSurfacesOptions) {
    this.#options = options;
    const { rules, screen } = options;
    this.#machine = new FocusMachine(rules);
    this.#rate = new PatchRate(rules.patchesPerSecond, rules.patchBurst);
    this.costs = new AppCosts(rules.paintMs, options.clock, options.log);
    this.#images = new AppImages(screen, () => this.#apps);
  }

  // ---- the apps of the device ----

  follow(apps: Apps): Disposable {
    this.#apps = apps;
    const changes = apps.onChange((status) => this.#changed(status));
    return {
      [Symbol.dispose]: () => {
        changes[Symbol.dispose]();
        this.#apps = undefined;
        for (const app of this.#machine.apps) if (app !== OPERATOR) this.#end(app);
      },
    };
  }

  /** A call by voice goes to this app: it may show its answer. */
  spokenTo(app: string): void {
    this.#machine.open(app, this.#now);
    this.#look();
  }

  // ---- operations ----

  /** Throws SCENE_INVALID, RATE_LIMITED, SURFACE_TOO_COSTLY. */
  async show(caller: Caller, value: unknown, keep: boolean): Promise<Shown> {
    const app = ownerOf(caller);
    this.costs.checkOpen(app);
    this.#rate.take(app, this.#now);
    return await this.#inTurn(app, async () => {
      const { screen } = this.#options;
      const what = isCard(value) ? 'the card' : 'the scene';
      const checked: Scene | Card = isCard(value) ? checkCard(value, what) : checkScene(value, what);
      const given = await this.#images.resolved(idOf(app), this.#packageOf(app), checked, what);
      const { scene, card } = await screen.cards.draw(given, what);
      // It may have stopped meanwhile.
      if (app !== OPERATOR && !this.#holds(app))
        throw new CoreError('APP_NOT_RUNNING', { app, reason: 'it may not draw any more' });
      const now = this.#now;
      const mayShowItself = app === OPERATOR || this.#mayShowItself(app);
      if (app === OPERATOR) this.#machine.open(app, now);
      const seen = this.#machine.show(app, now, { mayShowItself, keep });
      screen.cards.keep(idOf(app), card);
      const version = screen.tree.put({
        id: idOf(app),
        layer: LAYERS.app,
        scene,
        hidden: true,
        ...(this.#machine.foreground === app && { hidden: false, fadeMs: FADE_MS }),
      });
      this.#look();
      this.#options.offer(app, seen ? undefined : await this.#titleOf(app, scene));
      return { state: seen ? this.#machine.stateOf(app) : 'queued', version };
    });
  }

  /** Throws NOT_FOREGROUND (no surface), SCENE_CONFLICT, SCENE_INVALID, RATE_LIMITED, SURFACE_TOO_COSTLY. */
  async patch(caller: Caller, patch: ScenePatch): Promise<{ readonly version: number }> {
    const app = ownerOf(caller);
    this.costs.checkOpen(app);
    this.#rate.take(app, this.#now);
    return await this.#inTurn(app, async () => {
      const what = 'the scene';
      if (!this.#machine.has(app))
        throw new CoreError('NOT_FOREGROUND', {
          verb: 'change the scene',
          reason: 'there is none; display.show gives one',
        });
      const { screen } = this.#options;
      const id = idOf(app);
      const surface = screen.tree.get(id)?.surface;
      if (surface?.version !== patch.version) return { version: screen.patch(id, patch, what) };
      // Before a file is looked for: names have the form that they must have, and are few.
      patchScene(surface.scene, patch, what);
      const resolved = await this.#images.resolved(id, this.#packageOf(app), patch, what);
      return { version: screen.patch(id, resolved, what) };
    });
  }

  async hide(caller: Caller): Promise<boolean> {
    const app = ownerOf(caller);
    return await this.#inTurn(app, async () => {
      const had = this.#machine.has(app);
      this.#take(app);
      return had;
    });
  }

  /** Throws NOT_FOREGROUND where it has none. */
  surfaceOf(caller: Caller, verb: string): string {
    const app = ownerOf(caller);
    if (!this.#machine.has(app))
      throw new CoreError('NOT_FOREGROUND', { verb, reason: 'there is no surface of yours' });
    return idOf(app);
  }

  /** Owner of the images of a call. Throws CALLER_DENIED. */
  ownerOf(caller: Caller): string {
    return idOf(ownerOf(caller));
  }

  stateOf(caller: Caller): SurfaceState | undefined {
    const app = ownerOf(caller);
    return this.#machine.has(app) ? this.#machine.stateOf(app) : undefined;
  }

  /** Called after each change of a state. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  // ---- Focus ----

  get app(): string | undefined {
    return this.#machine.foreground;
  }

  async open(app: string): Promise<void> {
    if (!this.#apps) throw new CoreError('APP_NOT_FOUND', { app });
    const { id, state, reason = `it ${stateText(state)}` } = await this.#apps.status(app);
    if (state !== 'running') throw new CoreError('APP_NOT_RUNNING', { app: id, reason });
    const { voice } = this.#options;
    if (!this.#machine.open(id, this.#now)) voice.say(id, 'display.open', {});
    this.#options.offer(id, undefined);
    this.#look();
  }

  home(): void {
    this.#machine.home();
    this.#look();
  }

  deliver(surface: string, input: SurfaceInput): boolean {
    const app = appOf(surface);
    if (app === undefined) return false;
    if (app !== OPERATOR && this.#machine.stateOf(app) === 'foreground')
      this.#options.voice.say(app, 'display.input', input);
    return true;
  }

  arranged(): void {
    this.#look();
  }

  touched(): void {
    this.#machine.touched(this.#now);
  }

  report({ surfaces, ms }: RendererReport): void {
    for (const cost of surfaces) {
      const app = appOf(cost.surface);
      if (app === undefined || !this.#machine.has(app)) continue;
      const verdict = this.costs.judge(app, cost, ms);
      if (verdict.close) this.#close(app, verdict.close);
      else this.#place(app, verdict.slow ? SLOWED_FPS : undefined);
    }
  }

  /** App, state and paint budget of a surface of an app; undefined for other surfaces. */
  about(
    surface: string,
  ): { readonly app: string; readonly state: SurfaceState; readonly budgetMs: number } | undefined {
    const app = appOf(surface);
    if (app === undefined) return undefined;
    return { app, state: this.#machine.stateOf(app), budgetMs: this.#options.rules.paintMs };
  }

  // ---- the rest ----

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #packageOf(app: string): string | undefined {
    return app === OPERATOR ? undefined : app;
  }

  #mayShowItself(app: string): boolean {
    const { autoShow } = this.#options.rules;
    return autoShow.includes('*') || autoShow.includes(app);
  }

  #holds(app: string): boolean {
    return this.#options.capabilities.holds({ kind: 'app', id: app }, 'display.surface');
  }

  async #titleOf(app: string, { title }: Scene): Promise<string> {
    const status = await this.#apps?.status(app).catch(() => undefined);
    return status?.title ?? title ?? app;
  }

  #inTurn<T>(app: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(app) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#turns.set(app, mine);
    const over = () => {
      if (this.#turns.get(app) === mine) this.#turns.delete(app);
    };
    mine.then(over, over);
    return mine;
  }

  #changed({ id, state }: AppStatus): void {
    if (state === 'running' && this.#holds(id)) return;
    this.#end(id);
  }

  /** It has stopped, or may not draw any more. */
  #end(app: string): void {
    this.#machine.gone(app);
    this.#take(app);
    this.#images.forget(app);
    this.#options.screen.dropImages(idOf(app));
    this.#rate.forget(app);
    this.costs.forget(app);
  }

  #take(app: string): void {
    this.#machine.hide(app);
    this.#options.screen.cards.forget(idOf(app));
    this.#options.screen.tree.remove(idOf(app));
    this.#options.offer(app, undefined);
    this.#look();
    this.#told.delete(app);
  }

  #close(app: string, reason: string): void {
    this.#take(app);
    this.#options.voice.say(app, 'display.surface', { state: 'hidden', code: 'SURFACE_TOO_COSTLY', reason });
  }

  /** Brings tree, apps and timer to what the machine says. */
  #look(): void {
    const { screen, voice } = this.#options;
    const cover = coverOfApps(screen.tree);
    this.#machine.cover(cover !== undefined);
    screen.light.hold('app', this.#machine.keeps);
    for (const app of this.#machine.apps) {
      const state = this.#machine.stateOf(app);
      const hidden = state === 'hidden' || (state === 'covered' && cover === 'opaque');
      const id = idOf(app);
      const row = screen.tree.get(id);
      if (row && (row.surface.hidden === true) !== hidden) screen.tree.place(id, { hidden, fadeMs: FADE_MS });
      this.#place(app, row?.surface.fps === COVERED_FPS ? undefined : row?.surface.fps);
      if (this.#told.get(app) === state) continue;
      this.#told.set(app, state);
      if (app !== OPERATOR) voice.say(app, 'display.surface', { state });
    }
    this.#arm();
    screen.refresh();
    for (const listener of [...this.#listeners]) listener();
  }

  #place(app: string, fps: number | undefined): void {
    const { tree } = this.#options.screen;
    const wanted = this.#machine.stateOf(app) === 'covered' ? COVERED_FPS : fps;
    if (tree.get(idOf(app)) && tree.get(idOf(app))?.surface.fps !== wanted) tree.place(idOf(app), { fps: wanted });
  }

  #arm(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const { endsAt } = this.#machine;
    if (endsAt === undefined) return;
    this.#timer = this.#options.clock.at(endsAt, () => {
      this.#timer = undefined;
      this.#machine.idle(this.#now);
      this.#look();
    });
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    for (const [app, state] of this.#told)
      if (state !== 'hidden') this.#options.voice.say(app, 'display.surface', { state: 'hidden' });
  }
}

/** Surface owner of a call: an app has one surface, the operator another. Throws CALLER_DENIED. */
function ownerOf({ kind, id }: Caller): string {
  if (kind === 'operator') return OPERATOR;
  if (kind === 'app') return id;
  throw new CoreError('CALLER_DENIED', {
    verb: 'draw by an operation',
    reason: `${kind} ${id} has the service display`,
  });
}

function idOf(app: string): string {
  return `app:${app}`;
}

function appOf(surface: string): string | undefined {
  return surface.startsWith('app:') ? surface.slice(4) : undefined;
}
