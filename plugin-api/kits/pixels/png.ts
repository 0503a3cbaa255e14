/** PNG (W3C, third edition): 8 bits, red, green, blue and alpha. */
import { promisify } from 'node:util';
import { crc32, deflate } from 'node:zlib';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

const packed = promisify(deflate);
/** Little time for a little more: flat areas become small in any case. */
const LEVEL = 3;

/** A picture of rows of red, green, blue and alpha. It is packed beside the event loop. */
export async function encodePng(picture: {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array;
}): Promise<Uint8Array> {
  const { width, height, rgba } = picture;
  // No filter: rows are copied as they are, and equal rows become nothing all the same.
  const rows = new Uint8Array((width * 4 + 1) * height);
  for (let y = 0; y < height; y++) rows.set(rgba.subarray(y * width * 4, (y + 1) * width * 4), y * (width * 4 + 1) + 1);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 6, 0, 0, 0], 8);
  const chunks = [
    chunk('IHDR', head),
    chunk('IDAT', await packed(rows, { level: LEVEL })),
    chunk('IEND', Buffer.alloc(0)),
  ];
  return new Uint8Array(Buffer.concat([Buffer.from(SIGNATURE), ...chunks]));
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
