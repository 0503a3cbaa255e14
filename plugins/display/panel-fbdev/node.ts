import { type FileHandle, open } from 'node:fs/promises';
import { FIXED_BYTES, VARIABLE_BYTES } from './layout.ts';

/** Calls to a framebuffer: the seam at which a test puts a file. */
export interface FramebufferNode extends AsyncDisposable {
  /** struct fb_var_screeninfo */
  variable(): Promise<Uint8Array>;
  /** struct fb_fix_screeninfo */
  fixed(): Promise<Uint8Array>;
  /** FBIOBLANK: 0 is on, 4 is off. Rejects where the driver cannot. */
  blank(level: number): Promise<void>;
  /** All of it, beginning at this byte. */
  write(bytes: Uint8Array, position: number): Promise<void>;
}

const FBIOGET_VSCREENINFO = 0x4600;
const FBIOGET_FSCREENINFO = 0x4602;
const FBIOBLANK = 0x4611;

type Ioctl<T> = (fd: number, request: number, argument: T) => Promise<number>;

/**
 * `/dev/fb0`. koffi is a native package that may be absent: imported only here. Its calls, and the writes of Node, wait
 * in threads of their own.
 */
export async function openNode(path: string): Promise<FramebufferNode> {
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  const errnoName = (number: number) =>
    Object.entries(koffi.os.errno).find(([, value]) => value === number)?.[0] ?? String(number);
  const called = <T>(prototype: string): Ioctl<T> => {
    const native = library.func(prototype);
    return (fd, request, argument) =>
      new Promise((resolve, reject) => {
        native.async(fd, request, argument, (error: unknown, result: number) => {
          if (error) reject(error);
          else if (result < 0) reject(new Error(errnoName(koffi.errno())));
          else resolve(result);
        });
      });
  };
  // FBIOBLANK takes a number where the others take an address.
  const fill = called<Buffer>('int ioctl(int fd, ulong request, _Inout_ void *argument)');
  const set = called<number>('int ioctl(int fd, ulong request, ulong argument)');
  const file = await open(path, 'r+');
  return nodeOf(file, path, fill, set);
}

function nodeOf(file: FileHandle, path: string, fill: Ioctl<Buffer>, set: Ioctl<number>): FramebufferNode {
  const asked = async (request: number, bytes: number): Promise<Uint8Array> => {
    const answer = Buffer.alloc(bytes);
    try {
      await fill(file.fd, request, answer);
    } catch (cause) {
      throw new Error(`${path} is no framebuffer (${(cause as Error).message})`, { cause });
    }
    return answer;
  };
  return {
    variable: () => asked(FBIOGET_VSCREENINFO, VARIABLE_BYTES),
    fixed: () => asked(FBIOGET_FSCREENINFO, FIXED_BYTES),
    async blank(level) {
      await set(file.fd, FBIOBLANK, level);
    },
    async write(bytes, position) {
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
        if (bytesWritten === 0) throw new Error(`${path} takes no more bytes`);
        done += bytesWritten;
      }
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}
