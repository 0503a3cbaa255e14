import { type FileHandle, open } from 'node:fs/promises';

const BLOCK = 64 << 10;
const NEWLINE = 10;

/** How much may still be read, over all files of one answer. */
export interface Budget {
  bytes: number;
}

/**
 * The lines of a log and of the file that was put aside before it, newest first, until the budget is spent; `end` leaves out what stands in the
 * log from there on. A file that is not there has no lines.
 */
export async function* linesBackwards(log: string, budget: Budget, end = Infinity): AsyncGenerator<string> {
  for (const file of [log, `${log}.1`]) {
    if (budget.bytes <= 0) return;
    const handle = await openIfThere(file);
    if (!handle) continue;
    try {
      yield* backwards(handle, budget, file === log ? end : Infinity);
    } finally {
      await handle.close();
    }
  }
}

async function* backwards(handle: FileHandle, budget: Budget, before: number): AsyncGenerator<string> {
  const { size } = await handle.stat();
  let end = Math.min(size, before);
  let rest: Buffer[] = []; // the beginning of a line is still to come: its later parts, first part first
  while (end > 0 && budget.bytes > 0) {
    const length = Math.min(BLOCK, end, budget.bytes);
    const block = Buffer.allocUnsafe(length);
    const { bytesRead } = await handle.read(block, 0, length, end - length);
    budget.bytes -= length;
    end -= length;
    let to = bytesRead;
    for (
      let at = block.lastIndexOf(NEWLINE, to - 1);
      at >= 0 && to > 0;
      at = to > 0 ? block.lastIndexOf(NEWLINE, to - 1) : -1
    ) {
      const line = Buffer.concat([block.subarray(at + 1, to), ...rest]).toString('utf8');
      rest = [];
      to = at;
      if (line !== '') yield line;
    }
    rest = [block.subarray(0, to), ...rest];
  }
  const first = Buffer.concat(rest).toString('utf8');
  if (end === 0 && first !== '') yield first;
}

async function openIfThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
