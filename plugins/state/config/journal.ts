/**
 * `config.journal`: what was changed since `config.yaml.last-good` and `config.meta.json` were written, a line for each
 * write of `config.yaml`. With it these two need not be written anew for each change. It is folded into them when it
 * has grown, when the plugin stops, and when it starts.
 */
import { rm } from 'node:fs/promises';
import { newerForm } from '@device-core/plugin-api';
import { appendFile, readState } from '@device-core/plugin-api/durable';
import { isKeyMetadata, type KeyMetadata } from './metadata.ts';

const FORM = 1;
const HEAD = '{"format":';
/** A longer one is folded before the next write. */
const MOST_BYTES = 256 * 1024;

/** A value that was set with who did it, or null for a key that was unset. */
export type Change = (KeyMetadata & { readonly value: unknown }) | null;
export type Changes = ReadonlyMap<string, Change>;

export interface Found {
  /** Writes, the oldest first. */
  readonly writes: readonly Changes[];
  /** Revision of the metadata that they follow. */
  readonly of?: number;
  /** Reason why writes may be lost. */
  readonly damage?: string;
}

export class Journal {
  readonly path: string;
  #bytes = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** There is something that last good copy and metadata do not say. */
  get used(): boolean {
    return this.#bytes > 0;
  }

  get full(): boolean {
    return this.#bytes > MOST_BYTES;
  }

  /**
   * Reads the journal if it follows the metadata of revision `of`: one of other metadata was folded already, and
   * undefined metadata cannot tell. An incomplete last line was never acknowledged. Throws STATE_NEWER, and
   * STATE_CORRUPT for a file that cannot be read.
   */
  async read(of: number | undefined): Promise<Found> {
    this.#bytes = 1; // any old file has to go before a new one begins
    const text = await readState(this.path);
    this.#bytes = text === undefined ? 0 : Math.max(1, Buffer.byteLength(text));
    if (text === undefined) return { writes: [] };
    const writes: Changes[] = [];
    const damaged = (line: number): Found => ({ writes, damage: `line ${line} of ${this.path} is damaged` });
    const [head, ...lines] = text.split('\n').slice(0, -1);
    if (head === undefined) return HEAD.startsWith(text.slice(0, HEAD.length)) ? { writes } : damaged(1);
    const first = record(head);
    const newer = newerForm(this.path, first?.format, FORM);
    if (newer) {
      this.#bytes = 0;
      throw newer;
    }
    if (first?.format !== FORM || !Number.isSafeInteger(first.of)) return damaged(1);
    if (of !== undefined && first.of !== of) return { writes };
    for (const [index, line] of lines.entries()) {
      const keys = record(line)?.keys;
      if (typeof keys !== 'object' || keys === null) return damaged(index + 2);
      const entries = Object.entries(keys as Record<string, Change>);
      if (!entries.every(([, change]) => change === null || isKeyMetadata(change))) return damaged(index + 2);
      writes.push(new Map(entries));
    }
    return { writes, of: first.of as number };
  }

  /** Durable when it resolves. `of` is the revision of the metadata that it follows. */
  async append(changes: Changes, of: number): Promise<void> {
    const head = this.used ? '' : `${JSON.stringify({ format: FORM, of })}\n`;
    const text = `${head}${JSON.stringify({ keys: Object.fromEntries(changes) })}\n`;
    await appendFile(this.path, text);
    this.#bytes += Buffer.byteLength(text);
  }

  /** Its contents stand elsewhere now. */
  async drop(): Promise<void> {
    if (this.used) await rm(this.path, { force: true, recursive: true });
    this.#bytes = 0;
  }
}

function record(line: string): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(line);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
