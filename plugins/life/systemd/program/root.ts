import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { chmod, mkdir, readlink, realpath, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';

/** A system that is installed to: that of this machine, or a tree that becomes an image. Nothing of it leads out of it. */
export class Root {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = resolve(folder);
  }

  /**
   * Root of `--root`; without it the system of this machine. Throws a Failure before anything is written where that
   * has no systemd.
   */
  static of(folder = '/'): Root {
    const root = new Root(folder);
    if (!existsSync(root.folder)) throw usage(`there is no folder ${folder}`);
    if (root.live && !existsSync('/run/systemd/system'))
      throw new Failure(EXIT.answered, 'UNAVAILABLE', 'systemd does not run this machine', {
        hint: 'name the tree of an image with --root DIR',
      });
    return root;
  }

  /** The system of this machine runs: what is written takes effect now. */
  get live(): boolean {
    return this.folder === '/';
  }

  /** Version of its systemd, by the name of its library; 0 where there is none yet. */
  get systemd(): number {
    const [library = ''] = globSync('usr/lib/{,*/}systemd/libsystemd-shared-*.so', { cwd: this.folder });
    return Number(/-(\d+)[^/]*\.so$/.exec(library)?.[1] ?? 0);
  }

  /** `path` as the system sees it, or relative to its root. */
  path(path: string): string {
    return join(this.folder, path);
  }

  /** Throws where a link of the tree leads to another: an absolute one would be one of this machine. */
  async write(path: string, text: string): Promise<void> {
    await this.#parent(path);
    await replaceFile(this.path(path), text);
    await chmod(this.path(path), 0o644);
  }

  async link(path: string, to: string): Promise<void> {
    await this.#parent(path);
    if ((await readlink(this.path(path)).catch(() => undefined)) === to) return;
    const fresh = `${this.path(path)}.new`;
    await rm(fresh, { force: true });
    await symlink(to, fresh);
    await rename(fresh, this.path(path));
  }

  async #parent(path: string): Promise<void> {
    await this.inside(path);
    await mkdir(dirname(this.path(path)), { recursive: true, mode: 0o755 });
  }

  /** Throws where a link of the tree would take this path out of it. Nothing is made. */
  async inside(path: string): Promise<void> {
    let parent = dirname(this.path(path));
    while (!existsSync(parent)) parent = dirname(parent);
    const all = await realpath(this.folder);
    if (all !== '/' && !`${await realpath(parent)}/`.startsWith(`${all}/`))
      throw new Failure(EXIT.answered, 'INTERNAL', `${parent} leads out of ${this.folder}`);
  }

  /** Makes the folder of a path, and gives where that is. */
  async place(path: string): Promise<string> {
    await this.#parent(path);
    return this.path(path);
  }
}

/** Output of a program of the system; undefined where it is not installed. */
export function runTool(
  program: string,
  ...args: readonly string[]
): { readonly ok: boolean; readonly stdout: string; readonly stderr: string } | undefined {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return undefined;
  return { ok: status === 0, stdout: stdout ?? '', stderr: `${stderr ?? ''}${error ? error.message : ''}`.trim() };
}
