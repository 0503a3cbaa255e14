/** The panel, which may come, go, fail and be another one: is it there now, and what is it? */
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Panel, PanelFrame, PanelInfo } from '@device-core/plugin-api/services/panel';
import type { FrameWatch } from './watch/frame-watch.ts';

/** Milliseconds between two looks at a panel that is not there: at first, and at most. It doubles. */
const LEAST_PAUSE_MS = 250;
const MOST_PAUSE_MS = 30_000;
const INFO_MS = 5_000;
const PRESENT_MS = 5_000;

export interface Glass {
  readonly panel: Panel;
  readonly info: PanelInfo;
}

export class PanelLink {
  readonly #log: Logger;
  readonly #frames: Pick<FrameWatch, 'take'>;
  #panel: Panel | undefined;
  #part: Scope | undefined;
  #glass: Glass | undefined;
  #problem = 'no plugin of the SKU provides a panel';
  #streak = 0;
  #pause: Disposable | undefined;
  #asking = 0;
  /** It is there, or gone, or another. */
  changed: () => void = () => undefined;

  /** `frames` gets each shown frame, for watchers from afar. */
  constructor(log: Logger, frames: Pick<FrameWatch, 'take'>) {
    this.#frames = frames;
    this.#log = log;
  }

  /** Another object after each change: the stage compares it. */
  get glass(): Glass | undefined {
    return this.#glass;
  }

  get problem(): string | undefined {
    return this.#glass ? undefined : this.#problem;
  }

  /** While the service is there. */
  async follow(panel: Panel, part: Scope): Promise<void> {
    this.#panel = panel;
    this.#part = part;
    part.use(
      'changes of the panel',
      panel.onChange(({ problem }) => {
        if (problem !== undefined) this.lost(problem);
        else void this.#ask();
      }),
    );
    part.defer('panel', () => {
      this.#panel = undefined;
      this.#part = undefined;
      this.#end('its plugin has stopped');
    });
    await this.#ask();
  }

  /** The way of frames for one opening: over when the glass is another. */
  async present(glass: Glass, frame: PanelFrame): Promise<{ readonly at: number }> {
    const part = this.#part;
    if (glass !== this.#glass || !part) throw new CoreError('PANEL_UNAVAILABLE', { reason: this.#problem });
    this.#frames.take(glass.info, frame);
    try {
      return await part.within('a frame', PRESENT_MS, () => glass.panel.present(frame));
    } catch (error) {
      const ours = error instanceof CoreError && error.code === 'PARAMS_INVALID';
      if (!ours && glass === this.#glass && !part.signal.aborted) this.lost(reasonOf(error));
      throw error;
    }
  }

  lost(reason: string): void {
    if (!this.#panel) return;
    const known = this.#glass === undefined && this.#problem === reason;
    this.#end(reason);
    if (!known) this.#log.warn({ reason }, `the panel is gone: ${reason}`);
    this.#later();
  }

  #later(): void {
    const ms = Math.min(MOST_PAUSE_MS, LEAST_PAUSE_MS * 2 ** this.#streak);
    this.#streak++;
    this.#pause?.[Symbol.dispose]();
    this.#pause = this.#part?.timeout('the panel is looked for', ms, () => this.#ask());
  }

  #end(reason: string): void {
    this.#asking++;
    this.#pause?.[Symbol.dispose]();
    this.#pause = undefined;
    this.#glass = undefined;
    this.#problem = reason;
    this.changed();
  }

  async #ask(): Promise<void> {
    const panel = this.#panel;
    const part = this.#part;
    if (!panel || !part) return;
    const turn = ++this.#asking;
    this.#pause?.[Symbol.dispose]();
    this.#pause = undefined;
    try {
      const info = await part.within('the panel', INFO_MS, () => panel.info());
      if (turn !== this.#asking) return;
      this.#glass = { panel, info };
      this.#streak = 0;
      this.#log.info({ panel: info }, `panel ${info.driver}, ${info.width} x ${info.height}, ${info.format}`);
      this.changed();
    } catch (error) {
      if (turn !== this.#asking || part.signal.aborted) return;
      this.lost(reasonOf(error));
    }
  }
}
