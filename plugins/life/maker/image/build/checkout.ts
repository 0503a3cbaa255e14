/** The checkout that an image is made of. */
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { usage } from '@device-core/plugin-api/program';
import type { Content } from '../list.ts';

export interface LockedPackage {
  readonly version?: string;
  /** Name of another package, which stands in for this one. */
  readonly name?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface PackageFile {
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** Paths of the checkout that go into an image: a change here means that the commit does not describe the image. */
const PARTS = ['kernel', 'manifests', 'plugin-api', 'plugins', 'package.json', 'package-lock.json', 'LICENSE'];

export class Checkout {
  readonly folder: string;
  readonly package: PackageFile;
  /** Path -> what the lock file says of it. */
  readonly locked: Readonly<Record<string, LockedPackage>>;

  /** Throws a usage error where there is none with its packages. */
  constructor(folder: string) {
    this.folder = resolve(folder);
    if (!existsSync(this.path('node_modules/.bin/node')) || !existsSync(this.path('kernel/main.ts')))
      throw usage(`${folder} is no checkout with its packages`, 'run npm ci there');
    this.package = JSON.parse(this.text('package.json'));
    this.locked = JSON.parse(this.text('package-lock.json')).packages;
  }

  path(path: string): string {
    return join(this.folder, path);
  }

  text(path: string): string {
    return readFileSync(this.path(path), 'utf8');
  }

  /** The runtime that the checkout names. */
  get node(): string {
    return realpathSync(this.path('node_modules/.bin/node'));
  }

  /** Seconds since the Unix epoch: of the commit, or what SOURCE_DATE_EPOCH says. */
  get time(): number {
    const said = process.env.SOURCE_DATE_EPOCH ?? this.#git('log', '-1', '--format=%ct');
    if (said !== undefined && /^\d{1,12}$/.test(said.trim())) return Number(said);
    throw usage('the time of this build is unknown', 'build from a commit, or set SOURCE_DATE_EPOCH');
  }

  /** The first file of what goes into an image that is not as the commit has it. */
  get changed(): string | undefined {
    return this.#git('status', '--porcelain', '--', ...PARTS)
      ?.split('\n')[0]
      ?.slice(3);
  }

  /**
   * Files below a folder of the checkout, sorted; `skip` gets each path relative to the checkout. Throws for what is
   * neither file nor folder.
   */
  files(folder: string, skip: (path: string) => boolean): readonly string[] {
    if (!existsSync(this.path(folder))) return [];
    return readdirSync(this.path(folder), { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap((entry) => {
        const path = `${folder}/${entry.name}`;
        if (skip(path)) return [];
        if (entry.isDirectory()) return this.files(path, skip);
        if (entry.isFile()) return [path];
        throw usage(`${path} is neither a file nor a folder, and an image holds nothing else`);
      });
  }

  /** A file as it is; programs stay programs. */
  content(path: string): Content {
    const file = this.path(path);
    return { mode: lstatSync(file).mode & 0o111 ? 0o755 : 0o644, bytes: () => readFileSync(file) };
  }

  #git(...words: readonly string[]): string | undefined {
    const { status, stdout } = spawnSync('git', ['-C', this.folder, ...words], { encoding: 'utf8' });
    return status === 0 && stdout.trim() !== '' ? stdout.trimEnd() : undefined;
  }
}
