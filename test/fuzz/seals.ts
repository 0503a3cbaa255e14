/** Seals of files: what a stranger who knows the format would set right again after a change. */
import { crc32, gunzipSync, gzipSync } from 'node:zlib';
import type { Seal } from './target.ts';

const BLOCK = 512;
const [SIZE_AT, SUM_AT, SUM_END] = [124, 148, 156];
/** A member that says it has more is taken for one without a content. */
const MOST_BYTES = 8 << 20;

/** Headers of a tar have a sum. */
export const TAR: Seal = {
  open: (bytes) => bytes,
  close(inner) {
    for (let at = 0; at + BLOCK <= inner.length; ) {
      const header = inner.subarray(at, at + BLOCK);
      if (header.every((byte) => byte === 0)) break;
      header.fill(' ', SUM_AT, SUM_END);
      const sum = header.reduce((all, byte) => all + byte, 0);
      header.write(`${sum.toString(8).padStart(6, '0')}\0 `, SUM_AT);
      const size = Number.parseInt(header.toString('latin1', SIZE_AT, SIZE_AT + 11), 8) || 0;
      at += BLOCK + Math.ceil((size < MOST_BYTES ? size : 0) / BLOCK) * BLOCK;
    }
    return inner;
  },
};

export const TAR_GZ: Seal = {
  open: (bytes) => gunzipSync(bytes),
  close: (inner) => gzipSync(TAR.close(inner), { level: 1 }),
};

/** Chunks of a PNG have a checksum. JPEG and WebP have none. */
export const PNG: Seal = {
  open: (bytes) => bytes,
  close(inner) {
    if (inner[0] !== 0x89) return inner;
    for (let at = 8; at + 12 <= inner.length; ) {
      const end = at + 8 + inner.readUInt32BE(at);
      if (end + 4 > inner.length) break;
      inner.writeUInt32BE(crc32(inner.subarray(at + 4, end)), end);
      at = end + 4;
    }
    return inner;
  },
};
