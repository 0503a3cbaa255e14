/** Layout of a framebuffer from the kernel's structs (linux/fb.h): fb_var_screeninfo and fb_fix_screeninfo as on 64 bits. */
import { PIXEL_BYTES, type PixelFormat } from '@device-core/plugin-api/services/panel';

export const VARIABLE_BYTES = 160;
export const FIXED_BYTES = 80;

/** Form and place of the pixels. */
export interface Layout {
  /** Name of its driver. */
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly format: PixelFormat;
  /** Bytes from one row to the next. */
  readonly stride: number;
  /** Bytes before the first pixel that is seen. */
  readonly offset: number;
  /** Hz */
  readonly refresh: number;
}

const PACKED_PIXELS = 0;
const VISUALS: readonly number[] = [2, 4]; // true colour, direct colour
const MOST_SIDE = 8_192;
/** Assumed refresh rate (Hz) of a driver that tells none. */
const REFRESH = 60;

/** Offset and length in bits of red, green and blue. */
const CHANNELS: Readonly<Record<PixelFormat, readonly (readonly [number, number])[]>> = {
  rgb565: [
    [11, 5],
    [5, 6],
    [0, 5],
  ],
  xrgb8888: [
    [16, 8],
    [8, 8],
    [0, 8],
  ],
};

/** Throws with the reason why it cannot be used. */
export function layoutOf(variable: Uint8Array, fixed: Uint8Array): Layout {
  const of = new DataView(variable.buffer, variable.byteOffset, VARIABLE_BYTES);
  const word = (at: number) => of.getUint32(at, true);
  const about = new DataView(fixed.buffer, fixed.byteOffset, FIXED_BYTES);
  const [width, height] = [word(0), word(4)];
  if (width < 1 || height < 1 || width > MOST_SIDE || height > MOST_SIDE)
    throw new Error(`it measures ${width} x ${height} pixels`);
  const bits = word(24);
  const [type, visual] = [about.getUint32(28, true), about.getUint32(36, true)];
  if (type !== PACKED_PIXELS || word(80) !== 0) throw new Error(`its pixels are not packed (type ${type})`);
  if (!VISUALS.includes(visual)) throw new Error(`its pixels are no colours (visual ${visual}): a palette, or grey`);
  const channels = [32, 44, 56].map((at) => [word(at), word(at + 4), word(at + 8)] as const);
  const format = formatOf(bits, channels);
  const bytes = PIXEL_BYTES[format];
  const stride = about.getUint32(48, true);
  if (stride < width * bytes) throw new Error(`its rows of ${width} pixels have ${stride} bytes only`);
  const offset = word(20) * stride + word(16) * bytes;
  const size = about.getUint32(24, true);
  const end = offset + (height - 1) * stride + width * bytes;
  if (end > size) throw new Error(`its last pixel ends at byte ${end} of ${size}`);
  const id = Buffer.from(fixed.subarray(0, 16)).toString('latin1').split('\0')[0]!;
  return { id, width, height, format, stride, offset, refresh: refreshOf(word) };
}

function formatOf(bits: number, channels: readonly (readonly [number, number, number])[]): PixelFormat {
  const format = ({ 16: 'rgb565', 32: 'xrgb8888' } as const)[bits];
  if (format === undefined) throw new Error(`it has ${bits} bits a pixel; 16 (rgb565) and 32 (xrgb8888) are known`);
  const same = CHANNELS[format].every(([at, length], index) => {
    const [itsAt, itsLength, mirrored] = channels[index]!;
    return itsAt === at && itsLength === length && mirrored === 0;
  });
  if (same) return format;
  const said = channels.map(([at, length], index) => `${['red', 'green', 'blue'][index]} ${length} bits at ${at}`);
  throw new Error(`its ${bits} bits are ${said.join(', ')}, which is not ${format}`);
}

/** Refresh rate (Hz) from the clock of a pixel, in picoseconds, and the pixels of a row and the rows, with margins. */
function refreshOf(word: (at: number) => number): number {
  const picoseconds = word(100);
  const across = word(0) + word(104) + word(108) + word(120);
  const down = word(4) + word(112) + word(116) + word(124);
  const hz = Math.round(1e12 / (picoseconds * across * down));
  return hz >= 1 && hz <= 240 ? hz : REFRESH;
}
