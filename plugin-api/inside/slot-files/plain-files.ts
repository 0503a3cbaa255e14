/** Files and folders that another process may change while they are read: opened without going through a link, read up to a limit. */
import { closeSync, constants as fs, fstatSync, openSync, readSync } from 'node:fs';

/** Linux's O_PATH: the place itself, not what is in it. It opens no device, and waits for no pipe. */
const PLACE = 0o10000000 | fs.O_NOFOLLOW;

/** Error for a folder, a link, a pipe, a socket or a device. */
export class NoFile extends Error {}

export class TooLarge extends Error {}

/** Something that is open, and its name that leads nowhere else. */
export class Opened implements Disposable {
  readonly fd: number;

  constructor(path: string, flags: number, mode?: number) {
    this.fd = openSync(path, flags, mode);
  }

  /** A folder that no part of its path leads to by a link. Throws ENOENT, ENOTDIR, ELOOP. */
  static folder(path: string): Opened {
    let at = new Opened('/', PLACE | fs.O_DIRECTORY);
    for (const part of path.split('/').filter((one) => one !== '')) {
      using above = at;
      at = above.folder(part);
    }
    return at;
  }

  folder(name: string): Opened {
    return new Opened(this.path(name), PLACE | fs.O_DIRECTORY);
  }

  /** Opens a file in it. Throws for a link, a folder and all else that is no file. */
  file(name: string): Opened {
    const file = new Opened(this.path(name), fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
    if (fstatSync(file.fd).isFile()) return file;
    file[Symbol.dispose]();
    throw new NoFile(`${name} is no file`);
  }

  /** All of a file in it. Throws for one that has more than `most` bytes. */
  read(name: string, most: number): Buffer {
    using file = this.file(name);
    return file.content(name, most);
  }

  /** Bytes from the beginning of the open file: at most its size when it was checked. */
  content(name: string, most: number): Buffer {
    const { size } = fstatSync(this.fd);
    if (size > most) throw new TooLarge(`${name} has more than ${most} bytes`);
    const bytes = Buffer.allocUnsafe(size);
    let count = 0;
    for (let more = -1; more !== 0 && count < size; count += more)
      more = readSync(this.fd, bytes, count, size - count, count);
    return bytes.subarray(0, count);
  }

  path(name: string): string {
    return `/proc/self/fd/${this.fd}/${name}`;
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }
}
