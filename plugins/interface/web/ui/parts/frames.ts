/** Frames of the panel as the stream `display.frames` sends them, on a canvas. */

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface FrameHead {
  readonly width: number;
  readonly height: number;
  readonly format: 'rgb565' | 'xrgb8888';
  readonly rects: readonly Rect[];
  readonly seq: number;
  /** Milliseconds since the Unix epoch, by the clock of the device. */
  readonly at: number;
  /** Black: what is shown is for the operator alone. */
  readonly masked?: boolean;
}

const NEWLINE = 10;

/** Draws one frame; the canvas gets the size of the panel. Rejects where it is no frame. */
export async function drawFrame(canvas: HTMLCanvasElement, chunk: Uint8Array): Promise<FrameHead> {
  const end = chunk.indexOf(NEWLINE);
  const head = JSON.parse(new TextDecoder().decode(chunk.subarray(0, end))) as FrameHead;
  const pixels = await inflated(chunk.subarray(end + 1));
  if (canvas.width !== head.width || canvas.height !== head.height) {
    canvas.width = head.width;
    canvas.height = head.height;
  }
  // Opaque: the panel has nothing behind it.
  const context = canvas.getContext('2d', { alpha: false });
  if (context === null) throw new Error('this browser has no canvas');
  let from = 0;
  for (const { x, y, w, h } of head.rects) {
    const image = new ImageData(w, h);
    const out = new Uint32Array(image.data.buffer);
    from += head.format === 'rgb565' ? from565(pixels, from, out) : fromXrgb(pixels, from, out);
    context.putImageData(image, x, y);
  }
  return head;
}

async function inflated(packed: Uint8Array): Promise<ArrayBuffer> {
  const raw = new DecompressionStream('deflate-raw');
  const writer = raw.writable.getWriter();
  const read = new Response(raw.readable).arrayBuffer();
  await writer.write(packed as Uint8Array<ArrayBuffer>);
  await writer.close();
  return read;
}

/** Answers with the bytes that it took. */
function from565(pixels: ArrayBuffer, from: number, out: Uint32Array): number {
  const words = new Uint16Array(pixels, from, out.length);
  for (let at = 0; at < out.length; at += 1) {
    const value = words[at]!;
    const [red, green, blue] = [value >> 11, (value >> 5) & 63, value & 31];
    out[at] =
      0xff000000 | (((blue << 3) | (blue >> 2)) << 16) | (((green << 2) | (green >> 4)) << 8) | (red << 3) | (red >> 2);
  }
  return words.byteLength;
}

function fromXrgb(pixels: ArrayBuffer, from: number, out: Uint32Array): number {
  const words = new Uint32Array(pixels, from, out.length);
  for (let at = 0; at < out.length; at += 1) {
    const value = words[at]!;
    out[at] = 0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | ((value >>> 16) & 0xff);
  }
  return words.byteLength;
}
