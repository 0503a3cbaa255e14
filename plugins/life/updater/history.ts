/** Every step of every update, a line each, appended: no rollback takes a line back. */
import { open } from 'node:fs/promises';
import type { Logger } from '@device-core/plugin-api';
import { appendFile } from '@device-core/plugin-api/durable';
import type { UpdateState } from '@device-core/plugin-api/inside/services/updates';

/** Longest of each of the two files. */
const MOST_BYTES = 256 << 10;

export interface HistoryLine {
  /** Milliseconds since the Unix epoch, as the clock had it. */
  readonly at: number;
  readonly state: UpdateState;
  readonly version?: string;
  readonly image?: string;
  readonly from?: string;
  readonly slot?: 'a' | 'b';
  readonly reason?: string;
  /** Role of the requester: `operator`; absent: the device by itself. */
  readonly by?: string;
}

export class History {
  readonly #file: string;
  readonly #log: Logger;
  /** The last line is one of ours. */
  #begun = false;
  /** Why the last line was not taken. */
  trouble: string | undefined;

  constructor(file: string, log: Logger) {
    this.#file = file;
    this.#log = log;
  }

  /** Never rejects: an update does not end for the sake of its history. */
  async add(line: HistoryLine): Promise<void> {
    try {
      // Half a line, after a loss of power, must not take the next one with it.
      const end = this.#begun ? '' : await breakAfter(this.#file);
      await appendFile(this.#file, `${end}${JSON.stringify({ format: 1, ...line })}\n`, { most: MOST_BYTES });
      this.#begun = true;
      this.trouble = undefined;
    } catch (error) {
      this.trouble = (error as Error).message;
      this.#log.warn({ err: error, line }, 'a line of the history of updates is lost');
    }
  }

  /** The newest first. Lines that cannot be read, or that a newer Core wrote in another form, are passed over and stay. */
  async last(count: number): Promise<readonly HistoryLine[]> {
    const found: HistoryLine[] = [];
    for (const file of [this.#file, `${this.#file}.1`]) {
      if (found.length >= count) break;
      const text = await endOf(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') this.#log.warn({ err: error, file }, 'cannot read the history of updates');
        return '';
      });
      for (const line of text.split('\n').toReversed()) {
        const read = lineOf(line);
        if (read && found.push(read) >= count) break;
      }
    }
    return found;
  }
}

/** Prefix of a new line: empty, or a newline after a line that was cut. */
async function breakAfter(file: string): Promise<'' | '\n'> {
  const text = await endOf(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text === '' || text.endsWith('\n') ? '' : '\n';
}

/** Whole lines at the end of a file, however long somebody let it become. */
async function endOf(file: string): Promise<string> {
  await using handle = await open(file);
  const { size } = await handle.stat();
  const from = Math.max(0, size - 2 * MOST_BYTES);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
  const text = buffer.toString('utf8', 0, bytesRead);
  return from === 0 ? text : text.slice(text.indexOf('\n') + 1);
}

function lineOf(text: string): HistoryLine | undefined {
  if (text === '') return undefined;
  try {
    const { format, at, state, version, image, from, slot, reason, by } = Object(JSON.parse(text));
    if (format !== 1 || typeof at !== 'number' || typeof state !== 'string') return undefined;
    const texts = Object.entries({ version, image, from, slot, reason, by }).filter(
      ([, one]) => typeof one === 'string',
    );
    return { at, state: state as UpdateState, ...Object.fromEntries(texts) };
  } catch {
    return undefined; // half a line, after a loss of power
  }
}
