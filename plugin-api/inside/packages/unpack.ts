/** Reads a package as `npm pack` and packApp() make it. Nothing but plain files and folders comes out, and never more than the limits. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { ReadEntry } from 'tar';
import { CoreError, reasonOf } from '../../contract/errors.ts';
import { isStorageTrouble, storageError } from '../../kits/durable/storage-error.ts';
import { pathProblem } from './paths.ts';
import type { TreeLimits } from './tree.ts';

/** Headers, padding and names of one file. */
const OVERHEAD = 4096;
const FILES: readonly string[] = ['File', 'OldFile', 'ContiguousFile'];
/** Bytes that may follow the end of an archive; tar(1) fills up to 10 KiB. */
const PADDING = 64 << 10;
/** The archive itself may not be compressed once more: that would be unpacked without a limit. */
const HEAD = 4;
const COMPRESSED = [Buffer.from([0x1f, 0x8b]), Buffer.from([0x28, 0xb5, 0x2f, 0xfd])];

/** Admits entries into the folder; keeps the first reason for a refusal. */
class Admission {
  problem: string | undefined;
  readonly #limits: TreeLimits;
  readonly #seen = new Set<string>();
  #top: string | undefined;
  #files = 0;
  #bytes = 0;
  #read = 0;
  #end: number | undefined;

  constructor(limits: TreeLimits) {
    this.#limits = limits;
  }

  accept(entry: ReadEntry): boolean {
    const reason = this.#refuse(entry);
    if (reason) this.problem ??= `${JSON.stringify(entry.path.slice(0, 120))} ${reason}`;
    return this.problem === undefined;
  }

  /** Counts what comes out of the decompressor. */
  took(chunk: Buffer): void {
    const { files, bytes } = this.#limits;
    if (this.#read === 0 && COMPRESSED.some((magic) => chunk.subarray(0, magic.length).equals(magic)))
      this.problem ??= 'it is compressed twice';
    this.#read += chunk.length;
    if (this.#read > bytes + (files + 2) * OVERHEAD) this.problem ??= `it unpacks to more than ${bytes} bytes`;
    if (this.#end !== undefined && this.#read > this.#end + PADDING) this.problem ??= 'it goes on after its end';
    this.check();
  }

  /** The mark of its end was read. */
  ends(): void {
    this.#end ??= this.#read;
  }

  check(): void {
    if (this.problem !== undefined) throw new Error(this.problem);
  }

  #refuse({ path, type, mode = 0, size }: ReadEntry): string | undefined {
    const folder = type === 'Directory';
    if (!folder && !FILES.includes(type)) return `is a ${type}; a package holds files and folders only`;
    const name = folder ? path.replace(/\/$/, '') : path;
    const problem = pathProblem(name);
    if (problem) return `cannot be taken: ${problem}`;
    const [top, ...below] = name.split('/');
    this.#top ??= top;
    if (top !== this.#top || (!folder && below.length === 0)) return 'lies beside the folder of the package';
    if (mode & 0o7000) return 'is setuid, setgid or sticky';
    if (folder) return undefined;
    if (this.#seen.has(name)) return 'comes twice';
    this.#seen.add(name);
    this.#bytes += size;
    if (++this.#files > this.#limits.files) return `is one of more than ${this.#limits.files} files`;
    return this.#bytes > this.#limits.bytes ? `makes it more than ${this.#limits.bytes} bytes` : undefined;
  }
}

/**
 * Unpacks below `folder`, without the top folder of the archive. Throws PACKAGE_INVALID, and the codes of a disk; what
 * was written by then stays there.
 */
export async function unpack(tarball: string, folder: string, limits: TreeLimits, signal: AbortSignal): Promise<void> {
  const admission = new Admission(limits);
  const over = Promise.withResolvers<void>();
  over.promise.catch(() => undefined); // awaited below, unless reading fails first
  const { Unpack } = await import('tar'); // only where something is unpacked
  const sink = new Unpack({
    cwd: folder,
    strict: true,
    strip: 1,
    preserveOwner: false,
    noMtime: true,
    umask: 0o022,
    brotli: false,
    zstd: false,
    filter: (_path, entry) => admission.accept(entry as ReadEntry),
  });
  sink.on('error', over.reject);
  sink.on('close', over.resolve);
  sink.on('eof', () => admission.ends());
  sink.on('ignoredEntry', ({ path, type }: ReadEntry) => {
    admission.problem ??= `${JSON.stringify(path.slice(0, 120))} is a ${type}; a package holds files and folders only`;
  });
  try {
    await pipeline(createReadStream(tarball, { signal }), createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
      let head: Buffer = Buffer.alloc(0);
      for await (const part of chunks) {
        // The first bytes tell what it is: they are looked at together.
        const chunk = head.length < HEAD ? Buffer.concat([head, part]) : part;
        if (head.length < HEAD) head = chunk;
        if (head.length < HEAD) continue;
        admission.took(chunk);
        if (!sink.write(chunk)) await Promise.race([once(sink, 'drain'), over.promise]);
      }
      sink.end();
      await over.promise;
    });
    admission.check();
  } catch (error) {
    const disk = storageError(folder, error);
    if (admission.problem === undefined && isStorageTrouble(disk)) throw disk;
    const reason = admission.problem ?? reasonOf(error);
    throw new CoreError('PACKAGE_INVALID', { source: tarball, reason }, { cause: error });
  }
}
