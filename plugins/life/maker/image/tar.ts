/** A plain tar of an image folder: what a stick or a package carries. Files alone, read by name; the same folder makes the same bytes. */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';

const BLOCK = 512;
/** `blobs/` and 64 digits fit; nothing longer is written. */
const LONGEST_NAME = 99;
/** An image has as many files, and its two own. */
const MOST_ENTRIES = 100_100;

export interface TarEntry {
  readonly at: number;
  readonly size: number;
}

/** Writes an entry after another; `end` makes a tar of them. */
export class TarWriter {
  readonly #handle: number;

  constructor(path: string) {
    this.#handle = openSync(path, 'wx', 0o644);
  }

  add(name: string, bytes: Uint8Array): void {
    if (Buffer.byteLength(name) > LONGEST_NAME) throw new Error(`the name ${name} is too long for an archive`);
    writeSync(this.#handle, header(name, bytes.length));
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#handle, bytes, done);
    writeSync(this.#handle, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK));
  }

  end(): void {
    writeSync(this.#handle, Buffer.alloc(2 * BLOCK));
    closeSync(this.#handle);
  }
}

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0);
  block.write(`0000644\0${'0000000\0'.repeat(2)}${size.toString(8).padStart(11, '0')} 00000000000 `, 100);
  block.write('        0', 148);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** Where each file of a tar lies. Throws for links, folders with contents of their own, names that stand twice, and what ends too early. */
export function readTar(handle: number): ReadonlyMap<string, TarEntry> {
  const found = new Map<string, TarEntry>();
  const { size: whole } = fstatSync(handle);
  const block = Buffer.alloc(BLOCK);
  for (let at = 0; ; ) {
    if (readSync(handle, block, 0, BLOCK, at) < BLOCK) throw new Error('the archive ends in the middle');
    at += BLOCK;
    if (block.every((byte) => byte === 0)) return found;
    const { name, size, kind } = entryOf(block);
    if (at + size > whole) throw new Error('the archive ends in the middle');
    if (kind !== '5') {
      if (kind !== '0') throw new Error(`${name} in the archive is no file`);
      if (found.has(name)) throw new Error(`${name} is twice in the archive`);
      if (found.size === MOST_ENTRIES) throw new Error(`the archive has more than ${MOST_ENTRIES} files`);
      found.set(name, { at, size });
    } else if (size > 0) throw new Error(`${name} in the archive is no folder`);
    at += Math.ceil(size / BLOCK) * BLOCK;
  }
}

function entryOf(block: Buffer): { readonly name: string; readonly size: number; readonly kind: string } {
  const text = (from: number, length: number): string => {
    const part = block.subarray(from, from + length);
    const end = part.indexOf(0);
    return part.subarray(0, end < 0 ? length : end).toString('latin1');
  };
  const octal = (from: number, length: number): number => {
    const digits = text(from, length).trim();
    if (!/^[0-7]{1,11}$/.test(digits)) throw new Error('the archive is none: a header is damaged');
    return Number.parseInt(digits, 8);
  };
  const blank = block.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 32 : byte), 0);
  if (octal(148, 8) !== blank) throw new Error('the archive is none: a header is damaged');
  // GNU tar writes `./name`.
  const name = text(0, 100).replace(/^\.\//, '');
  return { name, size: octal(124, 12), kind: text(156, 1) || '0' };
}

export function openTar(path: string): number {
  return openSync(path, 'r');
}
