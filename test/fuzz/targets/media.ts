/** Pictures, fonts and sounds, through the decoders that a device has. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { decodeWav, encodeWav } from '@device-core/plugin-api/audio';
import { encodePng } from '@device-core/plugin-api/pixels';
import { addon, addonProblem, canvasOf } from '../../../plugins/display/render-skia/canvas.ts';
import { coverageOf } from '../../../plugins/display/render-skia/coverage.ts';
import { Images } from '../../../plugins/display/render-skia/images.ts';
import { decodePng } from '../../../plugins/display/render-soft/png.ts';
import { PNG } from '../seals.ts';
import { type Target, WrongAcceptance } from '../target.ts';

const require = createRequire(import.meta.url);

const PICTURE: Target = {
  name: 'picture',
  form: 'bytes',
  seal: PNG,
  words: ['IHDR', 'IDAT', 'IEND', 'PLTE', 'tRNS', 'acTL', 'iCCP', 'eXIf', '\xff\xc0', '\xff\xd9', 'RIFF', 'VP8X'],
  async open() {
    if (addonProblem() !== undefined) return { seeds: [], run: () => false };
    const [canvas, context] = canvasOf(24, 16, false);
    context.fillStyle = '#3080f0';
    context.fillRect(2, 2, 12, 9);
    context.fillStyle = '#f0e01080';
    context.fillRect(8, 4, 12, 9);
    const images = new Images();
    return {
      seeds: [await canvas.encode('png'), await canvas.encode('jpeg', 60), await canvas.encode('webp', 60)],
      async run(bytes) {
        try {
          const { width, height } = await images.add('a', bytes);
          const found = images.find('a');
          if (found?.width !== width || found.height !== height) throw new WrongAcceptance('its size is another');
        } finally {
          images.drop(['a']);
        }
        return true;
      },
    };
  },
};

/** The decoder without a package, in the thread of the Core. */
const PLAIN_PICTURE: Target = {
  name: 'plain-picture',
  form: 'bytes',
  seal: PNG,
  words: ['IHDR', 'IDAT', 'IEND', 'PLTE', 'tRNS'],
  async open() {
    const rgba = Uint8Array.from({ length: 6 * 4 * 4 }, (_, at) => at * 7);
    return {
      seeds: [await encodePng({ width: 6, height: 4, rgba })],
      async run(bytes) {
        const bitmap = await decodePng(bytes, 'a');
        if (bitmap && bitmap.rgba.length !== bitmap.width * bitmap.height * 4)
          throw new WrongAcceptance('its pixels are not of its size');
        return bitmap !== undefined;
      },
    };
  },
};

const FONT: Target = {
  name: 'font',
  form: 'bytes',
  words: ['cmap', 'glyf', 'loca', 'head', 'wOFF', 'wOF2', 'OTTO', 'ttcf', '\0\x0c\0\0', '\0\x04'],
  async open() {
    if (addonProblem() !== undefined) return { seeds: [], run: () => false };
    const folder = mkdtempSync(join(tmpdir(), 'ff-'));
    const file = join(folder, 'font');
    const font = (kind: string) =>
      readFileSync(require.resolve(`@fontsource/inter/files/inter-vietnamese-400-normal.${kind}`));
    return {
      seeds: [font('woff2'), font('woff'), plainFont(font('woff'))],
      // A font that is no good is a problem of the renderer, with the reason: any Error is one.
      refuses: (error) => error instanceof Error && error.constructor === Error,
      run(bytes) {
        let before = -1;
        for (const [first, last] of coverageOf(bytes)) {
          if (first <= before || last < first) throw new WrongAcceptance(`${first} to ${last} comes behind ${before}`);
          before = last;
        }
        writeFileSync(file, bytes);
        const { GlobalFonts } = addon();
        const registered = GlobalFonts.registerFromPath(file, 'fuzz');
        if (registered === null) return false;
        const [, context] = canvasOf(32, 16, false);
        context.font = '12px fuzz';
        context.fillText('aăđ', 0, 12);
        context.getImageData(0, 0, 1, 1);
        GlobalFonts.remove(registered);
        return true;
      },
      async [Symbol.asyncDispose]() {
        rmSync(folder, { recursive: true });
      },
    };
  },
};

/** The same font without WOFF around it: tables lie as they are, and a mutation reaches what is in them. */
function plainFont(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(12);
  const head = Buffer.alloc(12 + 16 * count);
  woff.copy(head, 0, 4, 8);
  head.writeUInt16BE(count, 4);
  const parts: Buffer[] = [head];
  let offset = head.length;
  for (let index = 0; index < count; index += 1) {
    const entry = 44 + 20 * index;
    const [from, packed, size] = [4, 8, 12].map((at) => woff.readUInt32BE(entry + at)) as [number, number, number];
    const bytes = woff.subarray(from, from + packed);
    const table = packed < size ? inflateSync(bytes) : bytes;
    const at = 12 + 16 * index;
    woff.copy(head, at, entry, entry + 4);
    woff.copy(head, at + 4, entry + 16, entry + 20);
    head.writeUInt32BE(offset, at + 8);
    head.writeUInt32BE(size, at + 12);
    parts.push(table, Buffer.alloc((4 - (size % 4)) % 4));
    offset += size + ((4 - (size % 4)) % 4);
  }
  return Buffer.concat(parts);
}

const SOUND: Target = {
  name: 'wav',
  form: 'bytes',
  words: ['RIFF', 'WAVE', 'fmt ', 'data', 'LIST', '\xfe\xff', '\0\0\0\0', '\xff\xff\xff\x7f'],
  async open() {
    const samples = Int16Array.from({ length: 200 }, (_, index) => index * 100);
    return {
      seeds: [encodeWav({ rate: 16_000, samples }), wav(3, 2, 32), wav(1, 1, 24), wav(1, 4, 8)],
      run(bytes) {
        const { rate, samples: sound } = decodeWav(bytes);
        if (sound.length > bytes.length || !(rate >= 1_000))
          throw new WrongAcceptance(`${sound.length} samples of ${rate} Hz come out of ${bytes.length} bytes`);
        return true;
      },
    };
  },
};

/** A file of another format, all zeroes. */
function wav(encoding: number, channels: number, bits: number): Buffer {
  const frame = (channels * bits) / 8;
  const bytes = Buffer.from(encodeWav({ rate: 8_000, samples: new Int16Array((frame * 20) / 2) }));
  bytes.writeUInt16LE(encoding, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(8_000 * frame, 28);
  bytes.writeUInt16LE(frame, 32);
  bytes.writeUInt16LE(bits, 34);
  return bytes;
}

export const MEDIA: readonly Target[] = [PICTURE, PLAIN_PICTURE, FONT, SOUND];
