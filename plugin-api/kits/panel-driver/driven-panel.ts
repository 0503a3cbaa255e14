import { CoreError, type Logger, reasonOf, type Scope, settlesWithin } from '../../index.ts';
import type { ComponentHealth } from '../../services/health.ts';
import type { Panel, PanelFrame, PanelInfo } from '../../services/panel.ts';
import { Listeners } from '../operation-kit/index.ts';
import { checkFrame, checkLevel } from '../pixels/index.ts';

/** The glass as long as it is there: what the author of a driver writes. */
export interface PanelHardware extends AsyncDisposable {
  readonly info: PanelInfo;
  /**
   * Puts a frame that fits on the glass. One at a time. Resolves when it can take the next one, with the monotonic time
   * at which this one is seen. Why it rejects is why the panel is lost: it is closed then, and opened anew. `signal`
   * aborts at the end and at the limit of time.
   */
  show(frame: PanelFrame, signal: AbortSignal): Promise<{ readonly at: number }>;
  /** Present if `info.power`. */
  power?(on: boolean): Promise<void>;
  /** Present if `info.brightness`; 0..1. */
  brightness?(level: number): Promise<void>;
}

export interface DriverOptions {
  readonly scope: Scope;
  readonly log: Logger;
  /** For people: `/dev/fb0`. */
  readonly name: string;
  /** Rejects with the reason why there is no glass. */
  open(signal: AbortSignal): Promise<PanelHardware>;
  /** Longest time of a frame, a change of power or brightness. */
  readonly limitMs?: number;
}

const LIMIT_MS = 2_000;
const OPEN_MS = 10_000;
const CLOSE_MS = 2_000;
const PAUSE_MIN_MS = 500;
const PAUSE_MAX_MS = 60_000;
const CHANGED = 'changed';

/**
 * A panel over hardware that comes and goes: it checks frames, takes one at a time, limits the time of each call, tells
 * when the glass is lost, and opens it again, with pauses that grow to a minute. While it is there no timer runs. Power
 * and brightness are kept for a glass that comes back.
 */
export class DrivenPanel implements Panel {
  readonly #options: DriverOptions;
  readonly #listeners: Listeners<{ readonly problem?: string }>;
  #hardware: PanelHardware | undefined;
  #problem = 'it is not open yet';
  #busy = false;
  /** Calls but `present`, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #pause = PAUSE_MIN_MS;
  #on = true;
  #level: number | undefined;

  private constructor(options: DriverOptions) {
    this.#options = options;
    this.#listeners = new Listeners(options.log);
  }

  /** Resolves when it was tried once; a panel that is not there may come later. */
  static async start(options: DriverOptions): Promise<DrivenPanel> {
    const panel = new DrivenPanel(options);
    options.scope.defer('panel', () => panel.#close());
    await panel.#open();
    return panel;
  }

  /** Why nothing can be seen now. */
  get problem(): string | undefined {
    return this.#hardware ? undefined : this.#problem;
  }

  /** For a tap of `health.collect`. */
  get health(): ComponentHealth {
    const { info } = this.#hardware ?? {};
    if (!info) return { status: 'waiting', code: 'PANEL_UNAVAILABLE', message: this.#problem };
    const { driver, width, height, format, refresh } = info;
    return { status: 'okay', message: `${driver}: ${width} x ${height}, ${format}, ${refresh} Hz` };
  }

  async info(): Promise<PanelInfo> {
    return this.#there().info;
  }

  async present(frame: PanelFrame): Promise<{ readonly at: number }> {
    const hardware = this.#there();
    if (this.#busy) throw new CoreError('PANEL_UNAVAILABLE', { reason: 'it takes one frame at a time' });
    checkFrame(frame, hardware.info);
    this.#busy = true;
    try {
      const seen = await this.#do('frame', hardware, (signal) => hardware.show(frame, signal));
      // Only a glass that shows something ends the growing of the pauses.
      this.#pause = PAUSE_MIN_MS;
      return seen;
    } finally {
      this.#busy = false;
    }
  }

  async power(on: boolean): Promise<void> {
    this.#there();
    this.#on = on;
    await this.#inTurn((hardware) => hardware.power?.(on));
  }

  async brightness(level: number): Promise<void> {
    checkLevel(level);
    this.#there();
    this.#level = level;
    await this.#inTurn((hardware) => hardware.brightness?.(level));
  }

  onChange(listener: (state: { readonly problem?: string }) => void): Disposable {
    return this.#listeners.add(CHANGED, listener);
  }

  #there(): PanelHardware {
    if (!this.#hardware) throw new CoreError('PANEL_UNAVAILABLE', { reason: this.#problem });
    return this.#hardware;
  }

  #inTurn(work: (hardware: PanelHardware) => Promise<void> | undefined): Promise<void> {
    const mine = this.#turn.then(() => {
      const hardware = this.#there();
      return this.#do('change', hardware, async () => work(hardware));
    });
    this.#turn = mine.catch(() => undefined); // its caller has been told
    return mine;
  }

  async #do<T>(label: string, hardware: PanelHardware, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { scope, limitMs = LIMIT_MS } = this.#options;
    try {
      return await scope.within(`${label} of the panel`, limitMs, work);
    } catch (error) {
      if (scope.signal.aborted) throw error;
      await this.#lost(hardware, reasonOf(error));
      throw new CoreError('PANEL_UNAVAILABLE', { reason: this.#problem });
    }
  }

  async #open(): Promise<void> {
    const { scope, log, name, open } = this.#options;
    const opened = Promise.withResolvers<PanelHardware>();
    try {
      const hardware = await scope.within('opening the panel', OPEN_MS, async (signal) => {
        open(signal).then(opened.resolve, opened.reject);
        return await opened.promise;
      });
      if (!this.#on) await hardware.power?.(false);
      if (this.#level !== undefined && hardware.info.brightness) await hardware.brightness?.(this.#level);
      scope.signal.throwIfAborted();
      this.#hardware = hardware;
      log.info({ panel: name, ...hardware.info }, 'the panel is there');
      this.#listeners.tell(CHANGED, {});
    } catch (error) {
      // One that was opened too late, or that did not take what was wanted, is not left open.
      opened.promise.then(
        (late) => void this.#dispose(late),
        () => undefined, // the reason is told below
      );
      if (scope.signal.aborted) return;
      const reason = reasonOf(error);
      if (reason !== this.#problem) log.warn({ panel: name, reason }, 'there is no panel');
      this.#problem = reason;
      this.#later();
    }
  }

  #later(): void {
    this.#options.scope.timeout('open the panel again', this.#pause, () => void this.#open());
    this.#pause = Math.min(PAUSE_MAX_MS, 2 * this.#pause);
  }

  async #lost(hardware: PanelHardware, reason: string): Promise<void> {
    if (this.#hardware !== hardware) return;
    const { scope, log, name } = this.#options;
    this.#hardware = undefined;
    this.#problem = reason;
    log.warn({ panel: name, reason }, 'the panel is lost');
    this.#listeners.tell(CHANGED, { problem: reason });
    await this.#dispose(hardware);
    if (!scope.signal.aborted) this.#later();
  }

  async #close(): Promise<void> {
    const hardware = this.#hardware;
    this.#hardware = undefined;
    this.#problem = 'its driver has ended';
    if (hardware) await this.#dispose(hardware);
  }

  async #dispose(hardware: PanelHardware): Promise<void> {
    const { scope, log, name } = this.#options;
    const closing = (async () => {
      try {
        await hardware[Symbol.asyncDispose]();
      } catch (error) {
        log.warn({ panel: name, reason: reasonOf(error) }, 'the panel cannot be closed');
      }
    })();
    if (!(await settlesWithin(scope.clock, CLOSE_MS, closing)))
      log.warn({ panel: name }, 'the panel does not let itself be closed');
  }
}
