/**
 * Host of a WASI program that reads its arguments and writes one file: memory instead of a file system, so that it
 * runs where a plugin has no files to write, and leaves none behind.
 */

/** The used part of WebAssembly; the types of Node have none. */
export interface Wasm {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(module: object, imports: object): Promise<{ readonly exports: WasiExports }>;
}

interface WasiExports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly _start: () => void;
}

export interface Outcome {
  readonly status: number;
  readonly file: Uint8Array;
  /** The beginning of what it told on its two outputs. */
  readonly told: string;
}

/** Codes of preview 1. */
const OK = 0;
const BAD_DESCRIPTOR = 8;
const TOO_LARGE = 22;
const INVALID = 28;
const NO_SEEK = 70;

const CHARACTERS = 2;
const FOLDER = 3;
const REGULAR = 4;
const FOLDER_FD = 3;
const FILE_FD = 4;
const FOLDER_NAME = '/';
const ALL_RIGHTS = (1n << 30n) - 1n;

const MOST_FILE_BYTES = 16 << 20;
const MOST_TOLD = 1_000;

class Ended {
  readonly status: number;

  constructor(status: number) {
    this.status = status;
  }
}

/** One run of the program. Made before its arguments are known, for making it takes longer than running it. */
export class Program {
  #exports: WasiExports | undefined;
  #args: readonly Uint8Array[] = [];
  #file = new Uint8Array(64 << 10);
  #length = 0;
  #position = 0;
  #told = '';

  static async make(wasm: Wasm, module: object): Promise<Program> {
    const program = new Program();
    const { exports } = await wasm.instantiate(module, { wasi_snapshot_preview1: program.#imports() });
    program.#exports = exports;
    return program;
  }

  /** Once. Throws what the program throws that is broken. */
  run(args: readonly string[]): Outcome {
    this.#args = args.map((arg) => new TextEncoder().encode(`${arg}\0`));
    let status = 0;
    try {
      this.#exports?._start();
    } catch (thrown) {
      if (!(thrown instanceof Ended)) throw thrown;
      status = thrown.status;
    }
    return { status, file: this.#file.subarray(0, this.#length), told: this.#told };
  }

  get #view(): DataView {
    return new DataView(this.#exports!.memory.buffer);
  }

  #bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.#exports!.memory.buffer, at, length);
  }

  #imports(): object {
    return {
      args_sizes_get: (count: number, size: number) => {
        this.#view.setUint32(count, this.#args.length, true);
        const all = this.#args.reduce((sum, arg) => sum + arg.length, 0);
        this.#view.setUint32(size, all, true);
        return OK;
      },
      args_get: (pointers: number, buffer: number) => {
        let at = buffer;
        for (const [index, arg] of this.#args.entries()) {
          this.#view.setUint32(pointers + index * 4, at, true);
          this.#bytes(at, arg.length).set(arg);
          at += arg.length;
        }
        return OK;
      },
      clock_time_get: (_clock: number, _precision: bigint, time: number) => {
        this.#view.setBigUint64(time, process.hrtime.bigint(), true);
        return OK;
      },
      fd_prestat_get: (fd: number, state: number) => {
        if (fd !== FOLDER_FD) return BAD_DESCRIPTOR;
        this.#view.setUint32(state, 0, true);
        this.#view.setUint32(state + 4, FOLDER_NAME.length, true);
        return OK;
      },
      fd_prestat_dir_name: (fd: number, name: number, length: number) => {
        if (fd !== FOLDER_FD || length < FOLDER_NAME.length) return BAD_DESCRIPTOR;
        this.#bytes(name, FOLDER_NAME.length).set(new TextEncoder().encode(FOLDER_NAME));
        return OK;
      },
      fd_fdstat_get: (fd: number, state: number) => {
        if (fd > FILE_FD) return BAD_DESCRIPTOR;
        const kinds = [CHARACTERS, CHARACTERS, CHARACTERS, FOLDER, REGULAR];
        this.#bytes(state, 24).fill(0);
        this.#view.setUint8(state, kinds[fd]!);
        this.#view.setBigUint64(state + 8, ALL_RIGHTS, true);
        this.#view.setBigUint64(state + 16, ALL_RIGHTS, true);
        return OK;
      },
      fd_fdstat_set_flags: () => OK,
      // Whatever its name: there is one file.
      path_open: (...args: readonly unknown[]) => {
        this.#position = 0;
        this.#length = 0;
        this.#view.setUint32(args[8] as number, FILE_FD, true);
        return OK;
      },
      fd_close: () => OK,
      fd_read: (_fd: number, _vectors: number, _count: number, read: number) => {
        this.#view.setUint32(read, 0, true);
        return OK;
      },
      fd_seek: (fd: number, offset: bigint, whence: number, result: number) => {
        if (fd !== FILE_FD) return NO_SEEK;
        const from = [0, this.#position, this.#length][whence];
        const position = from === undefined ? -1 : from + Number(offset);
        if (position < 0 || position > MOST_FILE_BYTES) return INVALID;
        this.#position = position;
        this.#view.setBigUint64(result, BigInt(position), true);
        return OK;
      },
      fd_write: (fd: number, vectors: number, count: number, written: number) => {
        let sum = 0;
        for (let index = 0; index < count; index++) {
          const at = this.#view.getUint32(vectors + index * 8, true);
          const length = this.#view.getUint32(vectors + index * 8 + 4, true);
          if (fd === FILE_FD && this.#position + length > MOST_FILE_BYTES) return TOO_LARGE;
          this.#take(fd, this.#bytes(at, length));
          sum += length;
        }
        this.#view.setUint32(written, sum, true);
        return OK;
      },
      proc_exit: (status: number) => {
        throw new Ended(status);
      },
    };
  }

  #take(fd: number, bytes: Uint8Array): void {
    if (fd !== FILE_FD) {
      if (this.#told.length < MOST_TOLD) this.#told += new TextDecoder().decode(bytes);
      return;
    }
    const end = this.#position + bytes.length;
    if (end > this.#file.length) {
      const larger = new Uint8Array(Math.max(end, this.#file.length * 2));
      larger.set(this.#file);
      this.#file = larger;
    }
    this.#file.set(bytes, this.#position);
    this.#position = end;
    this.#length = Math.max(this.#length, end);
  }
}
