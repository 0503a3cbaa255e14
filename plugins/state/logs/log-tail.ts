import { type FileHandle, open } from 'node:fs/promises';
import { createZstdDecompress } from 'node:zlib';
import { type LogPart, putAside } from './log-files.ts';

const BLOCK = 64 << 10;
const NEWLINE = 10;
/** A log file has 5 MB: what unpacks to more is none of ours. */
const MOST_UNPACKED = 64 << 20;

/** How much may still be read, over all files of one answer. */
export interface Budget {
  bytes: number;
}

/**
 * The lines of a log and of the files that were put aside before it, newest first, until the budget is spent; `end`
 * leaves out what stands in the log from there on. A file that is not there, or that cannot be unpacked, has no lines.
 */
export async function* linesBackwards(log: string, budget: Budget, end = Infinity): AsyncGenerator<string> {
  const seen = new Set<number>();
  yield* fileLines({ path: log }, { budget, seen, end });
  // A file that was put aside meanwhile was read already, and is known by its inode.
  for (const part of await putAside(log)) {
    if (budget.bytes <= 0) return;
    yield* fileLines(part, { budget, seen, end: Infinity });
  }
}

interface Reading {
  readonly budget: Budget;
  /** Inodes. */
  readonly seen: Set<number>;
  readonly end: number;
}

async function* fileLines({ path, packed }: LogPart, { budget, seen, end }: Reading): AsyncGenerator<string> {
  const plain = await openIfThere(path);
  const handle = plain ?? (packed === undefined ? undefined : await openIfThere(packed));
  if (!handle) return;
  try {
    const { ino, size } = await handle.stat();
    if (seen.has(ino)) return;
    seen.add(ino);
    const blocks = plain ? blocksBackwards(handle, budget, Math.min(size, end)) : unpackedBackwards(handle, budget);
    yield* linesOf(blocks);
  } finally {
    await handle.close();
  }
}

/** The last block first. `whole` with the one that begins the file. */
interface Block {
  readonly bytes: Buffer;
  readonly whole: boolean;
}

async function* linesOf(blocks: AsyncIterable<Block>): AsyncGenerator<string> {
  let rest: Buffer[] = []; // the beginning of a line is still to come: its later parts, first part first
  for await (const { bytes, whole } of blocks) {
    let to = bytes.length;
    while (to > 0) {
      const at = bytes.lastIndexOf(NEWLINE, to - 1);
      if (at < 0) break;
      const line = Buffer.concat([bytes.subarray(at + 1, to), ...rest]).toString('utf8');
      rest = [];
      to = at;
      if (line !== '') yield line;
    }
    rest = [bytes.subarray(0, to), ...rest];
    const first = whole ? Buffer.concat(rest).toString('utf8') : '';
    if (first !== '') yield first;
  }
}

async function* blocksBackwards(handle: FileHandle, budget: Budget, from: number): AsyncGenerator<Block> {
  for (let end = from; end > 0 && budget.bytes > 0; ) {
    const length = Math.min(BLOCK, end, budget.bytes);
    const block = Buffer.allocUnsafe(length);
    const { bytesRead } = await handle.read(block, 0, length, end - length);
    budget.bytes -= length;
    end -= length;
    yield { bytes: block.subarray(0, bytesRead), whole: end === 0 };
  }
}

/** It can be unpacked from its beginning only; no more of it than the budget is kept. What was cut in the middle has its first part. */
async function* unpackedBackwards(handle: FileHandle, budget: Budget): AsyncGenerator<Block> {
  const kept: Buffer[] = [];
  let bytes = 0;
  let all = 0;
  const packed = handle.createReadStream({ autoClose: false });
  const unpacked = packed.pipe(createZstdDecompress());
  packed.on('error', (error) => unpacked.destroy(error));
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) {
      kept.push(chunk);
      bytes += chunk.length;
      all += chunk.length;
      while (bytes - kept[0]!.length >= budget.bytes) bytes -= kept.shift()!.length;
      if (all > MOST_UNPACKED) break;
    }
  } catch {
    // damaged: what came before stands
  } finally {
    packed.destroy();
  }
  const whole = bytes === all && bytes <= budget.bytes;
  budget.bytes -= Math.min(bytes, budget.bytes);
  for (let at = kept.length - 1; at >= 0; at--) yield { bytes: kept[at]!, whole: whole && at === 0 };
}

async function openIfThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
