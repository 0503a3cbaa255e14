import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createZstdDecompress } from 'node:zlib';
import { CoreError } from '@device-core/plugin-api';
import { redact, redactText } from '@device-core/plugin-api/inside/redact';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { LogFiles } from './log-files.ts';

/** Bytes of text in one answer, and of the longest line that is one. */
const PIECE = 512 << 10;
const MOST_UNPACKED = 64 << 20;
/** Folders below that of the log whose files are of the log, too. */
const FOLDERS = ['', 'apps', 'flight'] as const;
const FILE = /^[a-z][a-z0-9-]{0,40}(\.\d{1,12})?\.(log|zst)(\.1)?$|^\d{13,16}-[a-z0-9.-]{1,80}\.jsonl$/;
const MOST_FILES = 1_000;

interface LogFileTold {
  readonly name: string;
  readonly bytes: number;
  /** Milliseconds since the Unix epoch. */
  readonly changedAt: number;
}

interface Piece {
  readonly text: string;
  /** `offset` of the next one, in bytes of the file as it was written. */
  readonly next: number;
  readonly end: boolean;
}

/** Operations for the list of logs and their texts, which `devicectl support-bundle` collects. */
export function fileOperations(files: LogFiles, hide: (texts: readonly string[]) => Promise<readonly string[]>) {
  const listing: Operation<object, { readonly files: readonly LogFileTold[] }> = {
    name: 'logs.files',
    summary: 'the files of the log, of apps and of the flight recorder',
    capability: 'system.logs',
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['files'],
      properties: {
        files: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name', 'bytes', 'changedAt'],
            properties: {
              name: { type: 'string' },
              bytes: { type: 'integer', description: 'on the disk; `.zst` are packed' },
              changedAt: { type: 'integer', description: 'milliseconds since the Unix epoch' },
            },
          },
        },
      },
    },
    rest: { method: 'GET', path: '/logs/files' },
    errors: [],
    run: async () => ({ files: await filesOf(files.folder) }),
  };
  const reading: Operation<{ readonly name: string; readonly offset: number }, Piece> = {
    name: 'logs.file',
    summary: 'a piece of a file of the log: whole lines, unpacked, with secrets hidden once more',
    capability: 'system.logs',
    params: {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: 'string', maxLength: 200, description: 'as logs.files names it' },
        offset: { type: 'integer', minimum: 0, default: 0, description: '`next` of the piece before' },
      },
    },
    result: {
      type: 'object',
      required: ['text', 'next', 'end'],
      properties: {
        text: { type: 'string' },
        next: { type: 'integer', description: 'offset of the next piece' },
        end: { type: 'boolean', description: 'there is no more' },
      },
    },
    rest: { method: 'GET', path: '/logs/file' },
    cli: { hide: true },
    errors: ['PARAMS_INVALID'],
    run: async ({ name, offset }, { signal }) => {
      const known = (await filesOf(files.folder)).some((one) => one.name === name);
      if (!known) throw new CoreError('PARAMS_INVALID', { where: 'name', reason: 'there is no such file of the log' });
      const { text, ...more } = await piece(join(files.folder, name), offset, signal);
      return { ...more, text: (await hide(text.split('\n'))).join('\n') };
    },
  };
  return [listing, reading] as const;
}

/** The newest first. */
async function filesOf(folder: string): Promise<readonly LogFileTold[]> {
  const found: LogFileTold[] = [];
  for (const below of FOLDERS)
    for (const entry of await readdir(join(folder, below), { withFileTypes: true }).catch(() => [])) {
      if (!entry.isFile() || !FILE.test(entry.name)) continue;
      const known = await stat(join(folder, below, entry.name)).catch(() => undefined);
      if (known)
        found.push({
          name: join(below, entry.name),
          bytes: known.size,
          changedAt: Math.max(0, Math.floor(known.mtimeMs)),
        });
    }
  return found.sort((a, b) => b.changedAt - a.changedAt).slice(0, MOST_FILES);
}

async function piece(path: string, offset: number, signal: AbortSignal): Promise<Piece> {
  await using handle = await open(path, 'r').catch(() => undefined);
  if (!handle) return { text: '', next: offset, end: true }; // it was put aside, or went, meanwhile
  const { bytes, end } = path.endsWith('.zst') ? await unpacked(handle, offset, signal) : await plain(handle, offset);
  const last = bytes.lastIndexOf(10) + 1;
  const whole = last > 0 && !end ? last : bytes.length;
  const lines = bytes.toString('utf8', 0, whole).split('\n');
  return { text: lines.map(hidden).join('\n'), next: offset + whole, end };
}

async function plain(handle: FileHandle, offset: number) {
  const block = Buffer.allocUnsafe(PIECE);
  const { bytesRead } = await handle.read(block, 0, PIECE, offset);
  return { bytes: block.subarray(0, bytesRead), end: bytesRead < PIECE };
}

/** From its beginning each time, as there is no other way: 20 ms for the last piece of a file of 5 MB. */
async function unpacked(handle: FileHandle, offset: number, signal: AbortSignal) {
  const source = handle.createReadStream({ autoClose: false });
  const text = source.pipe(createZstdDecompress());
  source.on('error', (error) => text.destroy(error));
  const kept: Buffer[] = [];
  let at = 0;
  let bytes = 0;
  try {
    for await (const chunk of text as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      const wanted = chunk.subarray(Math.max(0, offset - at));
      at += chunk.length;
      if (wanted.length > 0) kept.push(wanted);
      bytes += wanted.length;
      if (bytes >= PIECE || at > MOST_UNPACKED) break;
    }
  } catch {
    signal.throwIfAborted(); // damaged: what came before stands
  } finally {
    source.destroy();
  }
  return { bytes: Buffer.concat(kept).subarray(0, PIECE), end: bytes < PIECE };
}

/** An older Core may have known fewer secrets by their looks. */
function hidden(line: string): string {
  if (!line.startsWith('{')) return redactText(line);
  try {
    return JSON.stringify(redact(JSON.parse(line)));
  } catch {
    return redactText(line); // a power cut ended it in its middle
  }
}
