/** An initial RAM file system of Linux: an archive of cpio, form `newc`, not compressed, as the processor of the machine is slow. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const FOLDER = 0o040755;
const FILE = 0o100000;
const LINK = 0o120777;
const LIBRARY = /(?:=> )?(\/\S+\.so[.\d]*)/g;

export class Archive implements Disposable {
  readonly #fd: number;
  readonly #names = new Set<string>();

  constructor(path: string) {
    this.#fd = openSync(path, 'w');
  }

  /** A file of this machine, or a text, at a place in the other. */
  file(place: string, content: Uint8Array | string, executable = false): void {
    this.#entry(place, FILE | (executable ? 0o755 : 0o644), Buffer.from(content as Uint8Array));
  }

  link(place: string, target: string): void {
    this.#entry(place, LINK, Buffer.from(target));
  }

  folder(place: string): void {
    if (place === '.' || place === '') return;
    if (!this.#names.has(place)) this.#entry(place, FOLDER, Buffer.alloc(0));
  }

  /** A folder of this machine with all that is in it, as far as it is wanted. */
  tree(place: string, from: string, wanted: (path: string) => boolean = () => true): void {
    for (const entry of readdirSync(from, { withFileTypes: true })) {
      const [there, here] = [join(place, entry.name), join(from, entry.name)];
      if (!wanted(here)) continue;
      if (entry.isSymbolicLink()) this.link(there, readlinkSync(here));
      else if (entry.isDirectory()) this.tree(there, here, wanted);
      else if (entry.isFile()) this.file(there, readFileSync(here), (lstatSync(here).mode & 0o100) !== 0);
    }
  }

  /** A program of this machine with the libraries that it is linked with. */
  program(place: string, path: string): void {
    const real = realpathSync(path);
    this.file(place, readFileSync(real), true);
    const said = execFileSync('ldd', [real], { encoding: 'utf8' });
    for (const [, library] of said.matchAll(LIBRARY)) this.file(library!.slice(1), readFileSync(library!), true);
  }

  [Symbol.dispose](): void {
    this.#entry('TRAILER!!!', 0, Buffer.alloc(0));
    closeSync(this.#fd);
  }

  #entry(place: string, mode: number, content: Buffer): void {
    if (this.#names.has(place)) return;
    if (mode !== 0) this.folder(dirname(place));
    this.#names.add(place);
    const name = `${place}\0`;
    // Inode, mode, owner, group, links, time, size, device and its own device twice, length of the name, no sum.
    const fields = [this.#names.size, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length, 0];
    const head = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}${name}`;
    writeSync(this.#fd, head.padEnd(Math.ceil(head.length / 4) * 4, '\0'), null, 'latin1');
    if (content.length === 0) return;
    writeSync(this.#fd, content);
    writeSync(this.#fd, new Uint8Array((4 - (content.length % 4)) % 4));
  }
}
