/** Pictures: decoded once, one after the other, and kept until they are dropped. */
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { Serial } from '@device-core/plugin-api/inside/serial';
import { imageSize, type Rect } from '@device-core/plugin-api/scene';
import { addon, type Canvas, type Context, canvasOf } from './canvas.ts';

interface Picture {
  readonly canvas: Canvas;
  readonly context: Context;
  /** Another number after each change, so that what shows it is painted again. */
  turn: number;
}

const SIDE = 2_048;

export class Images {
  readonly #pictures = new Map<string, Picture>();
  #turns = 0;
  readonly #decoding = new Serial();

  find(name: string): Canvas | undefined {
    return this.#pictures.get(name)?.canvas;
  }

  turnOf(name: string): number {
    return this.#pictures.get(name)?.turn ?? 0;
  }

  /** Rejects with IMAGE_INVALID. */
  add(name: string, bytes: Uint8Array): Promise<{ readonly width: number; readonly height: number }> {
    return this.#decoding.run(() => this.#decode(name, bytes));
  }

  drop(names: readonly string[]): void {
    for (const name of names) this.#pictures.delete(name);
  }

  /** A part of a picture of `width` x `height` that comes piece by piece. Throws IMAGE_INVALID of sizes that do not agree. */
  part(name: string, width: number, height: number, rect: Rect, rgba: Uint8Array): void {
    const reason = partProblem(width, height, rect, rgba);
    if (reason !== undefined) throw new CoreError('IMAGE_INVALID', { image: name, reason });
    let picture = this.#pictures.get(name);
    if (picture?.canvas.width !== width || picture.canvas.height !== height) picture = this.#blank(name, width, height);
    const { ImageData } = addon();
    const pixels = new Uint8ClampedArray(rgba.buffer as ArrayBuffer, rgba.byteOffset, rgba.length);
    picture.context.putImageData(new ImageData(pixels, rect.w, rect.h), rect.x, rect.y);
    picture.turn = this.#turn();
  }

  #turn(): number {
    this.#turns = (this.#turns % 65_535) + 1;
    return this.#turns;
  }

  #blank(name: string, width: number, height: number): Picture {
    const [canvas, context] = canvasOf(width, height, false);
    const picture = { canvas, context, turn: this.#turn() };
    this.#pictures.set(name, picture);
    return picture;
  }

  async #decode(name: string, bytes: Uint8Array): Promise<{ readonly width: number; readonly height: number }> {
    const { width, height } = imageSize(bytes, name);
    const image = new (addon().Image)();
    try {
      image.src = bytes;
      await image.decode();
    } catch (cause) {
      throw new CoreError('IMAGE_INVALID', { image: name, reason: reasonOf(cause) }, { cause });
    }
    if (image.naturalWidth !== width || image.naturalHeight !== height) {
      const reason = `its header says ${width} x ${height}, it has ${image.naturalWidth} x ${image.naturalHeight}`;
      throw new CoreError('IMAGE_INVALID', { image: name, reason });
    }
    const picture = this.#blank(name, width, height);
    picture.context.drawImage(image, 0, 0);
    // A canvas records calls until its pixels are read: the decoder runs here, and not in a frame.
    picture.context.getImageData(0, 0, 1, 1);
    return { width, height };
  }
}

function partProblem(width: number, height: number, { x, y, w, h }: Rect, rgba: Uint8Array): string | undefined {
  const whole = [width, height, x, y, w, h].every((value) => Number.isInteger(value) && value >= 0);
  if (!whole || width < 1 || height < 1 || Math.max(width, height) > SIDE)
    return `it must have whole sizes of 1 to ${SIDE}`;
  if (w < 1 || h < 1 || x + w > width || y + h > height) return 'the rectangle lies outside of it';
  if (rgba.length !== w * h * 4) return `${rgba.length} bytes are not ${w} x ${h} pixels of 4`;
  return undefined;
}
