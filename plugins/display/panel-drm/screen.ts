/**
 * A connector of a card as the hardware of a panel: two buffers, one of which is seen while the other is painted,
 * changed at the vertical blank.
 */
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Backlight, PanelHardware } from '@device-core/plugin-api/panel-driver';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import { type PanelFrame, type PanelInfo, PIXEL_BYTES, type PixelFormat } from '@device-core/plugin-api/services/panel';
import type { CrtcState, DrmCard, DumbBuffer } from './card.ts';
import { type Choice, choose, type Wanted } from './choice.ts';

/** A wait for an event of the kernel holds a thread of the pool: no longer than this at a time. */
const SLICE_MS = 100;
/** The kernel is asked no more often whether the display is still there. */
const LOOK_MS = 1_000;
/** The card cannot change its picture now, but soon: another's commit is under way. */
const SOON_MS = 5;

export interface ScreenOptions extends Wanted {
  readonly scope: Scope;
  readonly card: DrmCard;
  readonly light: Backlight | undefined;
  readonly format: PixelFormat;
  /** Longest wait for a flip. */
  readonly flipMs: number;
}

export class Screen implements PanelHardware {
  readonly info: PanelInfo;
  readonly #options: ScreenOptions;
  readonly #choice: Choice;
  readonly #before: CrtcState;
  /** The one that is painted next comes first. */
  #buffers: readonly [back: DumbBuffer, front: DumbBuffer];
  /** The frame that the back buffer has not seen. */
  #last: PanelFrame | undefined;
  #on = true;
  /** DIRTYFB is for cards that copy; others do not know it. */
  #dirties = true;
  #token = 0;
  #looked: number;

  private constructor(
    options: ScreenOptions,
    choice: Choice,
    before: CrtcState,
    buffers: readonly [DumbBuffer, DumbBuffer],
  ) {
    const { light, format, scope } = options;
    const { width, height, refresh } = choice.mode;
    this.#options = options;
    this.#choice = choice;
    this.#before = before;
    this.#buffers = buffers;
    this.#looked = scope.clock.monotonic();
    this.info = { driver: 'drm', width, height, format, refresh, brightness: light !== undefined, power: true };
  }

  /** Rejects with the reason; the card is closed then. */
  static async open(options: ScreenOptions): Promise<Screen> {
    const { card, format } = options;
    const made: DumbBuffer[] = [];
    try {
      await master(card);
      const choice = await choose(card, options);
      const before = await card.crtc(choice.crtc);
      const { width, height } = choice.mode;
      const bits = format === 'rgb565' ? 16 : 32;
      for (let index = 0; index < 2; index++) made.push(await card.buffer(width, height, bits));
      const [back, front] = made as [DumbBuffer, DumbBuffer];
      for (const { memory } of made) memory.fill(0);
      const { crtc, connector, mode } = choice;
      await card.show(crtc, { framebuffer: front.framebuffer, connector, mode });
      await options.light?.power(true);
      return new Screen(options, choice, before, [back, front]);
    } catch (error) {
      for (const buffer of made) await buffer.release().catch(() => undefined); // the card is closed, which frees them
      await card[Symbol.asyncDispose]();
      throw error;
    }
  }

  async show(frame: PanelFrame, signal: AbortSignal): Promise<{ readonly at: number }> {
    await this.#look();
    const [back, front] = this.#buffers;
    if (this.#last) paint(this.#last, back, this.info.format);
    paint(frame, back, this.info.format);
    this.#last = frame;
    this.#buffers = [front, back];
    if (!this.#on) return { at: monotonicMs() };
    await this.#dirty(back, frame);
    return { at: await this.#flip(back, signal) };
  }

  async power(on: boolean): Promise<void> {
    const { card, light } = this.#options;
    if (on === this.#on) return;
    if (on) await this.#showFront();
    else await card.show(this.#choice.crtc);
    this.#on = on;
    await light?.power(on);
  }

  async brightness(level: number): Promise<void> {
    await this.#options.light?.level(level);
  }

  /** Restores the former picture and frees the card for others. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { card } = this.#options;
    const { crtc, connector } = this.#choice;
    try {
      if (this.#before.active) await card.restore(this.#before, connector);
      else await card.show(crtc);
      await card.dropMaster();
    } finally {
      // A card that is unplugged refuses all of it; closing it frees its buffers in any case.
      for (const buffer of this.#buffers) await buffer.release().catch(() => undefined);
      await card[Symbol.asyncDispose]();
    }
  }

  #showFront(): Promise<void> {
    const { crtc, connector, mode } = this.#choice;
    return this.#options.card.show(crtc, { framebuffer: this.#buffers[1].framebuffer, connector, mode });
  }

  /** Throws where the display is unplugged, as far as the kernel knows. There is no polling; each painting checks. */
  async #look(): Promise<void> {
    const { card, scope } = this.#options;
    const now = scope.clock.monotonic();
    if (now - this.#looked < LOOK_MS) return;
    this.#looked = now;
    const { connected } = await card.connector(this.#choice.connector, false);
    if (!connected) throw new Error('its display was unplugged');
  }

  async #dirty(buffer: DumbBuffer, { rects }: PanelFrame): Promise<void> {
    if (!this.#dirties) return;
    try {
      await this.#options.card.dirty(buffer.framebuffer, rects);
    } catch {
      this.#dirties = false; // ENOSYS: the card shows memory as it is
    }
  }

  async #flip(buffer: DumbBuffer, signal: AbortSignal): Promise<number> {
    const { card, scope, flipMs } = this.#options;
    const token = ++this.#token;
    try {
      return await scope.within(
        'flip',
        flipMs,
        async (over) => {
          while (!(await this.#begun(buffer, token))) await scope.clock.sleep(SOON_MS, over);
          while (!over.aborted) {
            const flip = (await card.flips(Math.min(SLICE_MS, flipMs))).find((one) => one.token === token);
            if (flip) return flip.at;
          }
          throw over.reason;
        },
        { signal },
      );
    } catch (error) {
      if (error instanceof CoreError && error.code === 'TIMEOUT') throw new Error(`no flip came in ${flipMs} ms`);
      throw new Error(`it does not flip (${reasonOf(error)})`, { cause: error });
    }
  }

  async #begun(buffer: DumbBuffer, token: number): Promise<boolean> {
    try {
      await this.#options.card.flip(this.#choice.crtc, buffer.framebuffer, token);
      return true;
    } catch (error) {
      if (reasonOf(error) === 'EBUSY') return false;
      throw error;
    }
  }
}

/** Only one process at a time decides what a card shows. */
async function master(card: DrmCard): Promise<void> {
  try {
    await card.setMaster();
  } catch (cause) {
    const errno = reasonOf(cause);
    const others = errno === 'EBUSY' || errno === 'EACCES' || errno === 'EPERM';
    const reason = others ? 'another program has the card, a compositor perhaps' : 'it cannot be taken';
    throw new Error(`${reason} (${errno})`, { cause });
  }
}

function paint({ rects, pixels }: PanelFrame, { memory, pitch }: DumbBuffer, format: PixelFormat): void {
  const bytes = PIXEL_BYTES[format];
  let from = 0;
  for (const { x, y, w, h } of rects)
    for (let row = y; row < y + h; row++) {
      memory.set(pixels.subarray(from, from + w * bytes), row * pitch + x * bytes);
      from += w * bytes;
    }
}
