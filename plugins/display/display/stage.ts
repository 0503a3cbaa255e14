/**
 * Brings tree, renderer and panel together: opens the first renderer that is well on the panel that is there, tells it
 * what changed, and opens the next one with the whole tree when it fails. There is one opening at a time, and one call
 * of apply() in flight.
 */
import { CoreError, type Logger, type Scope, settlesWithin } from '@device-core/plugin-api';
import type { PanelInfo } from '@device-core/plugin-api/services/panel';
import type { Renderer, RendererReport } from '@device-core/plugin-api/services/renderer';
import type { Glass, PanelLink } from './glass.ts';
import type { Images } from './images.ts';
import type { Registry, RendererRow } from './registry.ts';
import type { Tree } from './tree.ts';

/** Own time of a renderer. A thread that hangs for longer is as good as dead. */
const OPEN_MS = 15_000;
const APPLY_MS = 5_000;
const CLOSE_MS = 2_000;

interface Opened {
  readonly row: RendererRow;
  readonly glass: Glass;
  revision: number;
  over: boolean;
  /** Handle of an open renderer; disposing it closes the renderer. */
  held?: AsyncDisposable;
}

/** A renderer whose opening never ended is closed itself. */
async function release({ held, row }: Opened): Promise<void> {
  if (held) await held[Symbol.asyncDispose]();
  else await row.renderer.close();
}

export interface StageOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly registry: Registry;
  readonly link: PanelLink;
  readonly images: Images;
  readonly report: (report: RendererReport) => void;
  readonly changed: () => void;
  /** Frames from now on show nothing sensitive; what was painted before may. */
  readonly uncovered: () => void;
}

export class Stage {
  readonly #options: StageOptions;
  #tree!: Tree;
  #opened: Opened | undefined;
  #busy = false;
  #again = false;
  #paused = false;
  #told = false;

  constructor(options: StageOptions) {
    this.#options = options;
    const { registry, link } = options;
    registry.changed = () => {
      // A tree that could not be drawn without a renderer is drawn again when there is one.
      if (this.#tree) options.changed();
      this.#look();
    };
    link.changed = () => this.#look();
  }

  /** From here on it shows this tree. */
  show(tree: Tree): void {
    this.#tree = tree;
    this.#look();
  }

  /** Something of the tree changed. Changes of one turn go together, and so do those that come while the renderer is busy. */
  touched(): void {
    this.#look();
  }

  get renderer(): string | undefined {
    const opened = this.#opened;
    // One that went may owe an answer for a while yet: it is asked nothing more.
    return opened && !opened.over && this.#options.registry.has(opened.row) ? opened.row.id : undefined;
  }

  get panel(): PanelInfo | undefined {
    return this.#options.link.glass?.info;
  }

  /** Why nothing is seen now. */
  get problem(): string | undefined {
    const { link, registry } = this.#options;
    if (link.problem !== undefined) return `there is no panel: ${link.problem}`;
    if (this.renderer !== undefined) return undefined;
    const ill = registry.rows.filter(({ problem }) => problem).map(({ id, problem }) => `${id}: ${problem}`);
    return ill.length > 0 ? `no renderer is well: ${ill.join('; ')}` : 'there is no renderer yet';
  }

  /** Renderers that were put aside, and why. */
  get troubled(): readonly string[] {
    return this.#options.registry.rows.filter(({ pause }) => pause).map(({ id, problem }) => `${id}: ${problem}`);
  }

  whyNot(id: string): string {
    const row = this.#options.registry.rows.find((one) => one.id === id);
    return row ? (row.problem ?? 'it opens') : 'it is not there';
  }

  /** The panel is let go. */
  async end(): Promise<void> {
    const opened = this.#opened;
    if (!opened) return;
    opened.over = true;
    this.#opened = undefined;
    if (!this.#options.registry.has(opened.row)) return;
    const closed = release(opened);
    closed.catch(() => undefined);
    await settlesWithin(this.#options.scope.clock, CLOSE_MS, closed);
  }

  pause(paused: boolean): void {
    this.#paused = paused;
    this.#look();
  }

  /** The next frame is a whole one. */
  repaint(): void {
    if (this.#paused) return;
    const again = this.ask(
      'a whole frame',
      APPLY_MS,
      async (renderer) => {
        await renderer.pause(true);
        await renderer.pause(false);
      },
      true,
    );
    again.catch((error: unknown) => this.#options.log.debug({ error }, 'the whole screen was not painted again'));
  }

  /** Asks the renderer that paints, or the first that would. Rejects with PANEL_UNAVAILABLE where there is none. */
  async ask<T>(what: string, ms: number, question: (renderer: Renderer) => Promise<T>, open = false): Promise<T> {
    const { registry, scope } = this.#options;
    const row = this.renderer === undefined ? (open ? undefined : registry.best()) : this.#opened?.row;
    if (!row) throw new CoreError('PANEL_UNAVAILABLE', { reason: this.problem ?? 'there is no renderer' });
    return await scope.within(what, ms, () => question(row.renderer));
  }

  /** Runs until there is nothing to do; a call meanwhile makes it look again. */
  #look(): void {
    this.#again = true;
    if (this.#busy || !this.#tree) return;
    this.#busy = true;
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    const { scope } = this.#options;
    while (this.#again && !scope.signal.aborted) {
      this.#again = false;
      await this.#step();
    }
    this.#busy = false;
  }

  async #step(): Promise<void> {
    const { registry, link, changed } = this.#options;
    const best = registry.best();
    const { glass } = link;
    const now = this.#opened;
    if (now && (now.row !== best || now.glass !== glass || now.over)) await this.#close(now);
    if (!this.#opened && best && glass) await this.#open(best, glass);
    changed();
    if (this.#opened) await this.#feed(this.#opened);
  }

  async #open(row: RendererRow, glass: Glass): Promise<void> {
    const { registry, link, scope, log, report, images } = this.#options;
    const opened: Opened = { row, glass, revision: 0, over: false };
    const { renderer } = row;
    try {
      const present: Parameters<Renderer['open']>[0]['present'] = (frame) => {
        if (opened.over) throw new CoreError('PANEL_UNAVAILABLE', { reason: `renderer ${row.id} was closed` });
        return link.present(glass, frame);
      };
      const tell = (given: RendererReport) => {
        if (!opened.over) report(given);
      };
      opened.held = await scope.within(`renderer ${row.id} opens`, OPEN_MS, () =>
        renderer.open({ panel: glass.info, present, report: tell }),
      );
      this.#opened = opened;
      this.#told = false;
      images.forget(renderer);
      const shown = this.#tree.rows.filter(({ surface }) => !surface.hidden).map(({ surface }) => surface.scene);
      await images.give(renderer, shown);
      await this.#apply(opened, true);
      registry.opened(row);
      log.info({ renderer: row.id, panel: glass.info.driver }, `renderer ${row.id} paints on ${glass.info.driver}`);
      // Images of other scenes may take their time; the opening does not wait for them.
      void images.give(renderer).catch((error: unknown) => this.#failed(opened, error));
    } catch (error) {
      opened.over = true;
      if (this.#opened === opened) this.#opened = undefined;
      if (scope.signal.aborted) return;
      await this.#close(opened);
      // A panel that went meanwhile is no fault of the renderer.
      if (link.glass === glass) registry.failed(row, error);
      this.#again = true;
    }
  }

  async #close(opened: Opened): Promise<void> {
    const { scope, registry, log } = this.#options;
    opened.over = true;
    if (this.#opened === opened) this.#opened = undefined;
    const { row } = opened;
    if (!registry.has(row)) return;
    try {
      await scope.within(`renderer ${row.id} closes`, CLOSE_MS, () => release(opened));
    } catch (error) {
      log.debug({ renderer: row.id, error }, `renderer ${row.id} did not close`);
    }
  }

  async #feed(opened: Opened): Promise<void> {
    try {
      await this.#apply(opened, opened.revision === 0);
    } catch (error) {
      if (this.#options.scope.signal.aborted) return;
      const conflict = error instanceof CoreError && error.code === 'SCENE_CONFLICT';
      // It has another revision, after what it did not tell us: once it is given all of it.
      if (conflict && opened.revision > 0) opened.revision = 0;
      else this.#failed(opened, error);
      this.#again = true;
    }
  }

  async #apply(opened: Opened, whole: boolean): Promise<void> {
    const { scope } = this.#options;
    const { renderer, id } = opened.row;
    if (this.#told !== this.#paused) {
      const paused = this.#paused;
      await scope.within(`renderer ${id} pauses`, APPLY_MS, () => renderer.pause(paused));
      this.#told = paused;
    }
    const patch = whole ? this.#tree.whole() : this.#tree.changes();
    const clean = this.#tree.covered && !this.#tree.sensitive;
    if (!patch) return;
    const base = whole ? 0 : opened.revision;
    const revision = base + 1;
    await scope.within(`renderer ${id} takes a change`, APPLY_MS, () => renderer.apply({ ...patch, base, revision }));
    opened.revision = revision;
    if (clean) await this.#uncover(opened);
  }

  /** A frame of the old tree may still be on its way: the renderer pauses, and begins anew with a whole frame. */
  async #uncover({ row: { renderer, id } }: Opened): Promise<void> {
    const { scope, uncovered } = this.#options;
    const pause = (paused: boolean) =>
      scope.within(`renderer ${id} begins anew`, APPLY_MS, () => renderer.pause(paused));
    await pause(true);
    if (!this.#tree.sensitive) {
      this.#tree.uncover();
      uncovered();
    }
    if (this.#told === false) await pause(false);
  }

  #failed(opened: Opened, error: unknown): void {
    const { registry, scope } = this.#options;
    if (opened.over || scope.signal.aborted) return;
    opened.over = true;
    if (registry.has(opened.row)) registry.failed(opened.row, error);
    this.#look();
  }
}
