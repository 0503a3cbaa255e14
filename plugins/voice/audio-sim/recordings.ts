/**
 * Sound of the speaker, as WAV files: the last few, each of bounded length and whole at any moment but for its last
 * fraction of a second.
 */
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import {
  bytesOfSamples,
  concatSamples,
  decodeWav,
  msOf,
  WAV_HEADER_BYTES,
  wavHeader,
} from '@device-core/plugin-api/audio';

export interface RecordingOptions {
  readonly folder: string;
  readonly keep: number;
  readonly mostSeconds: number;
  readonly rate: number;
  /** The files cannot be written; undefined: they can again. */
  readonly onProblem: (reason: string | undefined) => void;
}

export interface Heard {
  readonly samples: Int16Array;
  readonly rate: number;
  /** Milliseconds since the Unix epoch at which it began. */
  readonly at: number;
  readonly playing: boolean;
}

const NAME = /^heard-(\d+)-(\d+)\.wav$/;
/** Milliseconds of sound between two writes. */
const FLUSH_MS = 200;
/** Seconds that may wait for a slow disk. */
const MOST_WAITING_S = 10;

interface File {
  readonly number: number;
  readonly at: number;
}

export class Recordings {
  readonly #options: RecordingOptions;
  #files: File[] = [];
  #current: Recording | undefined;

  constructor(options: RecordingOptions) {
    this.#options = options;
  }

  /** Finds what an earlier run has left. */
  async open(): Promise<void> {
    const { folder } = this.#options;
    await mkdir(folder, { recursive: true });
    const found = (await readdir(folder)).flatMap((name) => {
      const [, number, at] = NAME.exec(name) ?? [];
      return number === undefined ? [] : [{ number: Number(number), at: Number(at) }];
    });
    this.#files = found.sort((one, other) => one.number - other.number);
  }

  get count(): number {
    return this.#files.length;
  }

  /** A new file, in place of the oldest. */
  begin(): Recording {
    const { folder, keep, mostSeconds, rate, onProblem } = this.#options;
    const file = { number: (this.#files.at(-1)?.number ?? 0) + 1, at: Date.now() };
    const gone = this.#files.splice(0, Math.max(0, this.#files.length + 1 - keep));
    this.#files.push(file);
    const prepare = async () => {
      for (const old of gone) await rm(this.#path(old), { force: true });
      await mkdir(folder, { recursive: true });
      return await open(this.#path(file), 'w');
    };
    const recording = new Recording(prepare, rate, mostSeconds * rate, onProblem);
    this.#current = recording;
    return recording;
  }

  /** The newest (0) or one before it, at most `lastMs` of its end. Throws AUDIO_UNAVAILABLE. */
  async read(ago: number, lastMs: number): Promise<Heard & { readonly totalMs: number }> {
    const file = this.#files.at(-1 - ago);
    if (!file)
      throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'give what was heard', reason: 'nothing was played yet' });
    const current = ago === 0 ? this.#current : undefined;
    await current?.flush();
    try {
      const { rate, samples } = decodeWav(await readFile(this.#path(file)));
      const from = Math.max(0, samples.length - Math.ceil((lastMs * rate) / 1_000));
      const playing = current !== undefined && !current.closed;
      return { rate, samples: samples.subarray(from), at: file.at, playing, totalMs: msOf(samples.length, rate) };
    } catch (error) {
      const details = { verb: 'give what was heard', reason: reasonOf(error) };
      throw new CoreError('AUDIO_UNAVAILABLE', details, { cause: error });
    }
  }

  #path({ number, at }: File): string {
    return join(this.#options.folder, `heard-${String(number).padStart(6, '0')}-${at}.wav`);
  }
}

/** One file. Nothing here rejects: a disk that is full does not silence the speaker. */
export class Recording {
  readonly #handle: Promise<FileHandle | undefined>;
  readonly #rate: number;
  readonly #most: number;
  readonly #onProblem: (reason: string | undefined) => void;
  #waiting: Int16Array[] = [];
  #length = 0;
  #taken = 0;
  #written = 0;
  #work: Promise<void>;
  closed = false;

  constructor(
    prepare: () => Promise<FileHandle>,
    rate: number,
    most: number,
    onProblem: (reason: string | undefined) => void,
  ) {
    this.#rate = rate;
    this.#most = most;
    this.#onProblem = onProblem;
    this.#handle = prepare().catch((error) => {
      onProblem(reasonOf(error));
      return undefined;
    });
    this.#work = this.#handle.then(async (handle) => {
      if (handle) await this.#attempt(() => handle.write(wavHeader(rate, 0), 0, WAV_HEADER_BYTES, 0));
    });
  }

  /** It has as much as one file may: what follows goes into another. */
  get full(): boolean {
    return this.room <= 0;
  }

  /** Samples that it may still have. */
  get room(): number {
    return this.#most - this.#taken;
  }

  write(samples: Int16Array): void {
    if (this.#length + samples.length > MOST_WAITING_S * this.#rate) {
      this.#onProblem(`the disk is slow: ${msOf(samples.length, this.#rate)} ms of sound were dropped`);
      return;
    }
    this.#waiting.push(samples);
    this.#length += samples.length;
    this.#taken += samples.length;
    if (msOf(this.#length, this.#rate) >= FLUSH_MS) void this.flush();
  }

  /** Sound first and then its length in the header: at any moment the header tells no more than there is. */
  flush(): Promise<void> {
    this.#work = this.#work.then(async () => {
      const handle = await this.#handle;
      if (!handle || this.#length === 0) return;
      const samples = concatSamples(this.#waiting);
      this.#waiting = [];
      this.#length = 0;
      const bytes = bytesOfSamples(samples);
      await this.#attempt(async () => {
        await handle.write(bytes, 0, bytes.length, WAV_HEADER_BYTES + this.#written * 2);
        this.#written += samples.length;
        await handle.write(wavHeader(this.#rate, this.#written), 0, WAV_HEADER_BYTES, 0);
      });
    });
    return this.#work;
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.flush();
    const handle = await this.#handle;
    if (handle) await this.#attempt(() => handle.close());
  }

  async #attempt(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      this.#onProblem(undefined);
    } catch (error) {
      this.#onProblem(reasonOf(error));
    }
  }
}
