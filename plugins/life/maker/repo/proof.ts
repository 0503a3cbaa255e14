/**
 * A new set is looked at by the client that devices have before anything of it is written: what they would refuse does
 * not leave the desk.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import { emptyPathOf } from './channels.ts';
import type { MetadataFile } from './edition.ts';

const tuf = packageLater<typeof import('tuf-js')>('tuf-js', import.meta.url);
const errors = packageLater<typeof import('tuf-js/dist/error.js')>('tuf-js/dist/error.js', import.meta.url);

/** Most bytes that devices read of each file: plugins/life/updater/repository/look.ts says why. */
const MOST: Readonly<Record<string, number>> = {
  root: 64 << 10,
  timestamp: 16 << 10,
  snapshot: 64 << 10,
  targets: 64 << 10,
};
const MOST_OF_CHANNEL = 128 << 10;

export interface Proof {
  /** `metadata/` as it is now; absent files are looked for there. */
  readonly folder: string;
  readonly files: readonly MetadataFile[];
  /** Root that a device has: the one before this, or the first. */
  readonly root: Uint8Array;
  readonly channels: readonly string[];
}

/** Throws a Failure with what a device would say. */
export async function prove({ folder, files, root, channels }: Proof): Promise<void> {
  for (const { name, bytes } of files) {
    const most = MOST[name.replace(/^\d+\.|\.json$/g, '')] ?? MOST_OF_CHANNEL;
    if (bytes.length > most)
      throw new Failure(
        EXIT.answered,
        'REPOSITORY_UNTRUSTED',
        `${name} has ${bytes.length} bytes; devices read ${most}`,
        {
          hint: 'devicectl repo expire takes old versions away',
        },
      );
  }
  const place = await mkdtemp(join(tmpdir(), 'dc-proof-'));
  try {
    await replaceFile(join(place, 'root.json'), root, { sync: false });
    const fresh = new Map(files.map(({ name, bytes }) => [name, bytes]));
    const read = async (url: string): Promise<Buffer> => {
      const name = decodeURIComponent(new URL(url).pathname.slice(1));
      const file = join(folder, name);
      const found = fresh.get(name) ?? (existsSync(file) ? readFileSync(file) : undefined);
      if (found === undefined) throw new (errors().DownloadHTTPError)(`there is no ${name}`, 404);
      return found;
    };
    const { Updater } = tuf();
    const updater = new Updater({
      metadataDir: place,
      metadataBaseUrl: 'http://desk.invalid/',
      fetcher: { downloadBytes: read, downloadFile: () => Promise.reject(new Error('no target is looked at')) },
    });
    await updater.refresh();
    for (const channel of channels) await updater.getTargetInfo(emptyPathOf(channel));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(
      EXIT.answered,
      'REPOSITORY_UNTRUSTED',
      `a device would refuse the new set: ${(error as Error).message}`,
    );
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}
