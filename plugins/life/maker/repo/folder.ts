/**
 * A repository is a folder of files that any web server serves:
 *
 *     metadata/timestamp.json, <n>.snapshot.json, <n>.targets.json, <n>.<channel>.json, <n>.root.json
 *     targets/<channel>/<sku>/<platform>/<version>/<sha256>.<name>
 *     targets/apps/<id>/<version>/<sha256>.<platforms>.app, targets/plugins/<id>/<version>/<sha256>.any.tgz
 *     blobs/<sha256 of the plain file>.zst
 *
 * All but timestamp.json keep what they hold for good. So it is written last, and it alone says which set counts.
 */

import { constants, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join, posix, resolve } from 'node:path';
import { maybe } from '@device-core/plugin-api';
import { makeFolder, replaceFile, sweepFolders } from '@device-core/plugin-api/durable';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';
import type { MetadataFile, MetadataSet } from './edition.ts';
import {
  parseSigned,
  type RootSigned,
  type SnapshotSigned,
  sha256,
  type TargetEntry,
  type TargetsSigned,
  type TimestampSigned,
} from './metadata.ts';

const { O_WRONLY, O_CREAT, O_EXCL } = constants;
const PUBLIC = { mode: 0o644 } as const;

export class RepositoryFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get metadata(): string {
    return join(this.path, 'metadata');
  }

  get isThere(): boolean {
    return existsSync(join(this.metadata, 'timestamp.json'));
  }

  /** Throws a usage error. */
  mustBeThere(): void {
    if (!this.isThere) throw usage(`there is no repository in ${this.path}`, 'devicectl repo init makes one');
  }

  /** Reads the current set. Throws a Failure where it is damaged. */
  read(): MetadataSet {
    const read = (name: string) => readFileSync(join(this.metadata, name));
    try {
      const timestamp = parseSigned<TimestampSigned>('timestamp', read('timestamp.json'));
      const snapshot = parseSigned<SnapshotSigned>(
        'snapshot',
        read(`${timestamp.meta['snapshot.json'].version}.snapshot.json`),
      );
      const roles = new Map<string, TargetsSigned>();
      for (const [file, { version, hashes }] of Object.entries(snapshot.meta)) {
        const bytes = read(`${version}.${file}`);
        if (sha256(bytes) !== hashes.sha256) throw new Error(`${version}.${file} is not what the snapshot names`);
        roles.set(file.replace(/\.json$/, ''), parseSigned<TargetsSigned>('targets', bytes));
      }
      return {
        root: parseSigned<RootSigned>('root', read(`${this.rootVersion()}.root.json`)),
        roles,
        snapshot,
        timestamp,
      };
    } catch (error) {
      throw new Failure(
        EXIT.answered,
        'STATE_CORRUPT',
        `the repository in ${this.path} is damaged: ${(error as Error).message}`,
      );
    }
  }

  rootVersion(): number {
    const versions = readdirSync(this.metadata).flatMap((name) => /^(\d+)\.root\.json$/.exec(name)?.[1] ?? []);
    return Math.max(...versions.map(Number));
  }

  /** One command at a time. Throws a usage error. */
  async alone(): Promise<Disposable> {
    await mkdir(this.metadata, { recursive: true });
    const file = join(this.path, '.writing');
    const take = () => open(file, NEW, 0o644);
    const handle = await take().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw usage(`cannot write to ${this.path}: ${error.message}`);
      const pid = Number(readFileSync(file, 'utf8'));
      if (pid > 0 && isAlive(pid)) throw usage(`another command (process ${pid}) writes to ${this.path}`);
      rmSync(file, { force: true });
      return take();
    });
    await handle.write(String(process.pid));
    await handle.close();
    return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
  }

  hasBlob(hex: string): boolean {
    return existsSync(this.blob(hex));
  }

  blob(hex: string): string {
    return join(this.path, 'blobs', `${hex}.zst`);
  }

  async addBlob(hex: string, bytes: Uint8Array): Promise<void> {
    await makeFolder(join(this.path, 'blobs'), 0o755);
    await replaceFile(this.blob(hex), bytes, PUBLIC);
  }

  /** Writes a target; what a role has to say of it. Nobody sees it before that role does. */
  async addTarget(path: string, bytes: Uint8Array, custom?: TargetEntry['custom']): Promise<TargetEntry> {
    const entry: TargetEntry = {
      length: bytes.length,
      hashes: { sha256: sha256(bytes) },
      ...maybe({ custom }),
    };
    const file = this.target(path, entry);
    await makeFolder(posix.dirname(file), 0o755);
    await replaceFile(file, bytes, PUBLIC);
    return entry;
  }

  target(path: string, { hashes }: TargetEntry): string {
    const { dir, base } = posix.parse(path);
    return join(this.path, 'targets', dir, `${hashes.sha256}.${base}`);
  }

  /** In their order, each whole or not at all. */
  async write(files: readonly MetadataFile[]): Promise<void> {
    await sweepFolders([this.metadata]);
    for (const { name, bytes } of files) await replaceFile(join(this.metadata, name), bytes, PUBLIC);
  }
}

/** Made anew, or refused. */
const NEW = O_WRONLY | O_CREAT | O_EXCL;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
