/** The one screen: what its parts share. */

import { CoreError, type Logger, maybe, type Scope } from '@device-core/plugin-api';
import { Listeners } from '@device-core/plugin-api/operation-kit';
import type { ScenePatch } from '@device-core/plugin-api/scene';
import type { DisplayState, SurfaceInput } from '@device-core/plugin-api/services/display';
import type { PanelInfo } from '@device-core/plugin-api/services/panel';
import {
  type AudioLevel,
  LAYERS,
  type RendererReport,
  type Surroundings,
  type TextQuestion,
  type TextSize,
} from '@device-core/plugin-api/services/renderer';
import { Cards } from './cards.ts';
import { PanelLink } from './glass.ts';
import { Images } from './images.ts';
import { Registry } from './registry.ts';
import type { InputSeam, Light, LightSeam, SurroundingsSeam, TouchableSurface } from './seams.ts';
import { Stage } from './stage.ts';
import { type NewSurface, Tree } from './tree.ts';
import type { FrameWatch } from './watch/frame-watch.ts';
import { ScreenReader } from './watch/screen-reader.ts';

const MEASURE_MS = 5_000;
const IMAGE_MS = 20_000;
const SNAPSHOT_MS = 20_000;
const MOST_GLYPHS = 256;
const NO_REPORT = { at: 0, ms: 0, frames: 0, cpuMs: 0, surfaces: [] };

/** Requests of `screen` to the part that knows apps. */
export interface Focus {
  /** The app in the foreground. */
  readonly app: string | undefined;
  open(app: string): Promise<void>;
  home(): void;
  /** True where the surface is of an app. */
  deliver(surface: string, input: SurfaceInput): boolean;
  /** Surfaces above an app have changed: its state may be another. */
  arranged(): void;
  /** Touch or voice: the foreground begins its idle time anew. */
  touched(): void;
  report(report: RendererReport): void;
}

export interface ScreenOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly renderers: readonly string[];
  readonly surroundings: Surroundings;
  /** Maximum decoded bytes of images of one owner. */
  readonly imageBytes: number;
  readonly frames: FrameWatch;
}

export class Screen implements InputSeam, LightSeam, SurroundingsSeam {
  readonly scope: Scope;
  readonly log: Logger;
  readonly tree: Tree;
  readonly registry: Registry;
  readonly link: PanelLink;
  readonly stage: Stage;
  readonly images: Images;
  readonly cards: Cards;
  readonly reader: ScreenReader;
  /** Characters that no font has. */
  readonly missingGlyphs = new Set<string>();
  /** Set once, in setup(). */
  light!: Light;
  /** Surfaces of apps. */
  focus: Focus | undefined;
  /** Hands a touch to the plugin that drew the surface. */
  ofPlugins: (surface: string, input: SurfaceInput) => boolean = () => false;
  #state: DisplayState = { power: 'on', brightness: 1 };
  readonly #listeners: Listeners<unknown>;
  #glass: object | undefined;
  readonly #frames: FrameWatch;
  /** Cost of the last frames, and the time of this report: milliseconds since the Unix epoch. */
  report: Pick<RendererReport, 'ms' | 'frames' | 'cpuMs' | 'surfaces'> & { readonly at: number } = NO_REPORT;

  constructor({ scope, log, renderers, surroundings, imageBytes, frames }: ScreenOptions) {
    this.scope = scope;
    this.log = log;
    this.#listeners = new Listeners(log);
    this.registry = new Registry(scope, log, renderers);
    this.link = new PanelLink(log, frames);
    this.images = new Images(imageBytes);
    this.stage = new Stage({
      scope,
      log,
      registry: this.registry,
      link: this.link,
      images: this.images,
      report: (report) => {
        for (const glyph of report.missingGlyphs)
          if (this.missingGlyphs.size < MOST_GLYPHS) this.missingGlyphs.add(glyph);
        this.report = { ...report, at: scope.clock.now() };
        this.focus?.report(report);
      },
      changed: () => this.#look(),
      uncovered: () => frames.uncover(),
    });
    this.#frames = frames;
    this.tree = new Tree(surroundings, () => this.stage.touched());
    this.reader = new ScreenReader(this.tree, scope.clock, () => this.focus?.app);
    const world = () => ({
      surroundings: this.tree.surroundings,
      now: () => scope.clock.now(),
      measure: (texts: readonly TextQuestion[]) => this.measure(texts),
    });
    this.cards = new Cards(world, (surface, scene) => this.tree.redraw(surface, scene));
  }

  /** Focus and light are set: from here on it shows something. */
  begin(): void {
    this.stage.show(this.tree);
  }

  // ---- surfaces ----

  put(surface: NewSurface): number {
    if (surface.sensitive === true) this.#frames.cover();
    const version = this.tree.put(surface);
    this.focus?.arranged();
    return version;
  }

  patch(id: string, patch: ScenePatch, what?: string): number {
    if (this.cards.has(id))
      throw new CoreError('SCENE_INVALID', { what: what ?? id, where: '', reason: 'it is a card: give another one' });
    return this.tree.patch(id, patch, what);
  }

  remove(id: string): void {
    this.cards.forget(id);
    if (this.tree.remove(id)) this.focus?.arranged();
  }

  /** Throws IMAGE_INVALID. */
  async addImage(
    owner: string,
    bytes: Uint8Array,
    size: { readonly width: number; readonly height: number },
  ): Promise<string> {
    const known = this.images.decodedBytes(owner);
    const name = this.images.add(owner, bytes, size);
    if (this.stage.renderer === undefined || this.images.decodedBytes(owner) === known) return name;
    try {
      await this.stage.ask('an image', IMAGE_MS, (renderer) => this.images.hand(renderer, name), true);
    } catch (error) {
      if (!(error instanceof CoreError) || error.code !== 'IMAGE_INVALID') return name; // the next renderer is given it
      this.dropImages(owner, name);
      throw error;
    }
    return name;
  }

  dropImages(owner: string, name?: string): void {
    const gone = this.images.drop(owner, name);
    if (gone.length === 0 || this.stage.renderer === undefined) return;
    const dropped = this.stage.ask('images', IMAGE_MS, (renderer) => this.images.take(renderer, gone), true);
    dropped.catch((error: unknown) => this.log.debug({ error }, 'images were not dropped'));
  }

  measure(texts: readonly TextQuestion[]): Promise<readonly TextSize[]> {
    const { surroundings } = this.tree;
    return this.stage.ask('measuring text', MEASURE_MS, (renderer) => renderer.measure(texts, surroundings));
  }

  snapshot(surface?: string): Promise<Uint8Array> {
    const what = surface === undefined ? {} : { surface };
    return this.stage.ask('a picture of the screen', SNAPSHOT_MS, (renderer) => renderer.snapshot(what), true);
  }

  /** Worth something only now: who does not paint does not hear of them. */
  async levels(levels: readonly AudioLevel[]): Promise<void> {
    if (this.stage.renderer === undefined) return;
    await this.stage.ask('levels of a voice', MEASURE_MS, (renderer) => renderer.levels(levels), true);
  }

  /** For those far away who may not see all. Throws CALLER_DENIED where there is, or was meanwhile, what is sensitive. */
  async publicSnapshot(): Promise<Uint8Array> {
    const { tree } = this;
    const { covered, covers } = tree;
    const png = covered ? undefined : await this.snapshot();
    if (png !== undefined && tree.covers === covers) return png;
    const reason = 'the picture is for the operator and for people before the panel';
    throw new CoreError('CALLER_DENIED', { verb: 'take a picture of the panel', reason });
  }

  // ---- input/ ----

  surfacesFromAbove(): readonly TouchableSurface[] {
    return this.reader.surfaces();
  }

  deliver(surface: string, input: SurfaceInput): void {
    const row = this.tree.get(surface);
    if (!row || this.cards.turned(surface, row.surface.scene, input)) return;
    if (!this.focus?.deliver(surface, input)) this.ofPlugins(surface, input);
  }

  foreground(): string | undefined {
    const app = this.focus?.app;
    const covered = this.tree.rows.some(({ surface, modal }) => modal && !surface.hidden && surface.layer > LAYERS.app);
    return app === undefined || covered ? undefined : `app:${app}`;
  }

  /** Home by gesture, key or words: the device's own screen gets the key, too, for it may stand deep in its settings. */
  home(): void {
    this.leave();
    const own = this.reader.surfaces().find(({ layer }) => layer === LAYERS.home);
    if (own) this.deliver(own.id, { scene: own.version, phase: 'key', key: 'home' });
  }

  /** Ends the foreground. */
  leave(): void {
    this.focus?.home();
  }

  /** Throws APP_NOT_FOUND, APP_NOT_RUNNING. */
  async open(app: string): Promise<void> {
    if (!this.focus) throw new CoreError('APP_NOT_RUNNING', { app, reason: 'no app can show anything' });
    await this.focus.open(app);
  }

  touched(): void {
    this.focus?.touched();
    this.#listeners.tell('touched', undefined);
  }

  onTouched(listener: () => void): Disposable {
    return this.#listeners.add('touched', listener);
  }

  // ---- power/ ----

  get panel(): PanelInfo | undefined {
    return this.stage.panel;
  }

  paused(paused: boolean): void {
    this.stage.pause(paused);
  }

  panelPower(on: boolean): Promise<boolean> {
    return this.#panel(
      'power',
      (info) => info.power,
      (panel) => panel.power(on),
    );
  }

  panelBrightness(level: number): Promise<boolean> {
    return this.#panel(
      'brightness',
      (info) => info.brightness,
      (panel) => panel.brightness(level),
    );
  }

  onPanel(listener: (panel: PanelInfo) => void): Disposable {
    return this.#listeners.add('panel', listener as (value: unknown) => void);
  }

  // ---- settings/ ----

  get surroundings(): Surroundings {
    return this.tree.surroundings;
  }

  change(change: Partial<Surroundings>): void {
    const before = this.tree.surroundings;
    const after = { ...before, ...change };
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    this.tree.surround(after);
    this.#listeners.tell('surroundings', after);
    this.#layOut();
  }

  pose(...[pose]: Parameters<SurroundingsSeam['pose']>): void {
    this.tree.strike(pose);
  }

  onSurroundings(listener: (surroundings: Surroundings) => void): Disposable {
    return this.#listeners.add('surroundings', listener as (value: unknown) => void);
  }

  // ---- state ----

  get state(): DisplayState {
    return this.#state;
  }

  tell(change: Partial<Pick<DisplayState, 'power' | 'brightness'>>): void {
    this.#become({ ...this.#state, ...change });
  }

  onState(listener: (state: DisplayState) => void): Disposable {
    const heard = this.#listeners.add('state', listener as (value: unknown) => void);
    listener(this.#state);
    return heard;
  }

  /** Renderer, panel or foreground may be others. */
  refresh(): void {
    this.#look();
  }

  #look(): void {
    const { power, brightness } = this.#state;
    const { renderer, panel, problem } = this.stage;
    const app = this.focus?.app;
    this.#become({
      power,
      brightness,
      ...maybe({ app, renderer }),
      ...(panel && { panel: panel.driver }),
      ...maybe({ problem }),
    });
    const { glass } = this.link;
    if (glass && glass !== this.#glass) this.#listeners.tell('panel', glass.info);
    this.#glass = glass;
  }

  #become(state: DisplayState): void {
    const { renderer } = this.#state;
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.#listeners.tell('state', state);
    // Another renderer has other letters.
    if (state.renderer !== undefined && state.renderer !== renderer) this.#layOut();
  }

  #layOut(): void {
    this.cards.again().catch((error: unknown) => this.log.error({ error }, 'cards were not laid out again'));
  }

  async #panel(
    what: string,
    can: (info: PanelInfo) => boolean,
    ask: (panel: NonNullable<PanelLink['glass']>['panel']) => Promise<void>,
  ): Promise<boolean> {
    const { glass } = this.link;
    if (!glass || !can(glass.info)) return false;
    try {
      await this.scope.within(`${what} of the panel`, MEASURE_MS, () => ask(glass.panel));
      return true;
    } catch (error) {
      this.log.warn({ error }, `the panel did not take its ${what}`);
      return false;
    }
  }
}
