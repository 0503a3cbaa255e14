import { CoreError, type Logger, type Scope } from '@device-core/plugin-api';
import { Listeners } from '@device-core/plugin-api/operation-kit';
import { checkFrame, checkLevel, Glass } from '@device-core/plugin-api/pixels';
import type { Panel, PanelFrame, PanelInfo, PixelFormat } from '@device-core/plugin-api/services/panel';

export interface SimSettings {
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Hz */
  readonly refresh: number;
  /** Milliseconds from the flip until it is seen. */
  readonly latencyMs: number;
  /** It does not wait for the flip. */
  readonly tearing: boolean;
}

export interface SimState extends PanelInfo {
  readonly plugged: boolean;
  readonly on: boolean;
  readonly level: number;
  /** Since the plugin started: frames, bytes and pixels of them, and frames that came while their rows were on their way to the glass. */
  readonly frames: number;
  readonly pixels: number;
  readonly torn: number;
  /** `seq` of the last frame and when it was seen, monotonic milliseconds. */
  readonly seq?: number;
  readonly at?: number;
}

const CHANGED = 'changed';
const UNPLUGGED = 'it is unplugged';

/**
 * A panel with a clock: frames flip at multiples of its period, and the next one is taken then. No timer runs while
 * nothing is presented. Power and brightness are those of the glass: they stay while it is unplugged, as the picture
 * does.
 */
export class SimPanel implements Panel {
  readonly #scope: Scope;
  readonly #settings: SimSettings;
  readonly #info: PanelInfo;
  readonly #glass: Glass;
  readonly #listeners: Listeners<{ readonly problem?: string }>;
  readonly #began: number;
  #cable = new AbortController();
  #busy = false;
  #flipping: Promise<number> | undefined;
  #waited = false;
  #on = true;
  #level = 1;
  #frames = 0;
  #pixels = 0;
  #torn = 0;
  #last: { readonly seq: number; readonly at: number } | undefined;

  constructor(scope: Scope, log: Logger, settings: SimSettings) {
    const { width, height, format, refresh } = settings;
    this.#scope = scope;
    this.#settings = settings;
    this.#info = { driver: 'sim', width, height, format, refresh, brightness: true, power: true };
    this.#glass = new Glass(settings);
    this.#listeners = new Listeners(log);
    this.#began = scope.clock.monotonic();
  }

  async info(): Promise<PanelInfo> {
    this.#checkPlugged();
    return this.#info;
  }

  async present(frame: PanelFrame): Promise<{ readonly at: number }> {
    this.#checkPlugged();
    checkFrame(frame, this.#info);
    // A renderer ended in mid-frame leaves a flip behind. One next caller waits for it; others may not.
    if (this.#flipping && !this.#waited) {
      this.#waited = true;
      await this.#flipping.catch(() => undefined);
      this.#waited = false;
      this.#checkPlugged();
    }
    if (this.#busy) throw new CoreError('PANEL_UNAVAILABLE', { reason: 'it takes one frame at a time' });
    this.#busy = true;
    try {
      this.#flipping = this.#settings.tearing ? this.#tear(frame) : this.#flip();
      const flipped = await this.#flipping;
      this.#glass.put(frame);
      this.#frames++;
      this.#pixels += frame.rects.reduce((sum, { w, h }) => sum + w * h, 0);
      this.#last = { seq: frame.seq, at: flipped + this.#settings.latencyMs };
      return { at: this.#last.at };
    } finally {
      this.#flipping = undefined;
      this.#busy = false;
    }
  }

  async power(on: boolean): Promise<void> {
    this.#checkPlugged();
    this.#on = on;
  }

  async brightness(level: number): Promise<void> {
    this.#checkPlugged();
    checkLevel(level);
    this.#level = level;
  }

  onChange(listener: (state: { readonly problem?: string }) => void): Disposable {
    return this.#listeners.add(CHANGED, listener);
  }

  /** Its cable, pulled or put back. A frame on its way is lost. */
  plug(plugged: boolean): void {
    if (plugged !== this.#cable.signal.aborted) return;
    if (plugged) this.#cable = new AbortController();
    else this.#cable.abort(new CoreError('PANEL_UNAVAILABLE', { reason: UNPLUGGED }));
    this.#listeners.tell(CHANGED, plugged ? {} : { problem: UNPLUGGED });
  }

  /** Visible picture: black while the panel is off. Brightness is left to the eyes. */
  seen(): Glass {
    return this.#on ? this.#glass : new Glass(this.#settings);
  }

  state(): SimState {
    const { aborted } = this.#cable.signal;
    const counts = { frames: this.#frames, pixels: this.#pixels, torn: this.#torn };
    return { ...this.#info, plugged: !aborted, on: this.#on, level: this.#level, ...counts, ...this.#last };
  }

  #checkPlugged(): void {
    this.#cable.signal.throwIfAborted();
  }

  get #period(): number {
    return 1_000 / this.#settings.refresh;
  }

  /** Waits for the next flip; one that is less than half a millisecond away cannot be reached. */
  async #flip(): Promise<number> {
    const { clock } = this.#scope;
    const period = this.#period;
    const turn = Math.floor((clock.monotonic() + 0.5 - this.#began) / period) + 1;
    const at = this.#began + turn * period;
    await clock.sleep(at - clock.monotonic(), this.#cable.signal);
    return at;
  }

  /** It is on the glass at once; torn, where the beam is within its rows. */
  async #tear({ rects }: PanelFrame): Promise<number> {
    const now = this.#scope.clock.monotonic();
    const beam = (((now - this.#began) / this.#period) % 1) * this.#info.height;
    if (rects.some(({ y, h }) => beam > y && beam < y + h)) this.#torn++;
    return now;
  }
}
