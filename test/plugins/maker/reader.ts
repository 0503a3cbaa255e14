/** A device's client of TUF, as it comes from its package, over a folder or a moment of it. */
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Updater } from 'tuf-js';
import { DownloadHTTPError } from 'tuf-js/dist/error.js';
import type { UpdateRepository } from '../../fixtures/update-repository.ts';

export class Reader implements Disposable {
  readonly #repository: UpdateRepository;
  readonly #seen: ReadonlyMap<string, string> | undefined;
  readonly #folder: string;
  readonly #state = mkdtempSync(join(tmpdir(), 'dc-reader-'));

  /** `seen`: files of `metadata/` in hex, instead of those that lie there. */
  constructor(repository: UpdateRepository, seen?: ReadonlyMap<string, string>, folder = repository.folder) {
    this.#repository = repository;
    this.#seen = seen;
    this.#folder = folder;
    cpSync(repository.root, join(this.#state, 'root.json'));
  }

  /** What this one knows by now, looking at another moment. */
  copy(seen: ReadonlyMap<string, string>): Reader {
    const other = new Reader(this.#repository, seen, this.#folder);
    cpSync(this.#state, other.#state, { recursive: true });
    return other;
  }

  refresh(): Promise<void> {
    return this.#updater().refresh();
  }

  /** What the channel says of a path. */
  async target(path: string): Promise<Record<string, unknown> | undefined> {
    return (await this.#updater().getTargetInfo(path))?.custom;
  }

  #updater(): Updater {
    const read = async (url: string): Promise<Buffer> => {
      const name = decodeURIComponent(new URL(url).pathname.slice(1));
      const file = join(this.#folder, 'metadata', name);
      const hex = this.#seen ? this.#seen.get(name) : existsSync(file) ? readFileSync(file, 'hex') : undefined;
      if (hex === undefined) throw new DownloadHTTPError(`there is no ${name}`, 404);
      return Buffer.from(hex, 'hex');
    };
    return new Updater({
      metadataDir: this.#state,
      metadataBaseUrl: 'http://reader.invalid/',
      fetcher: { downloadBytes: read, downloadFile: () => Promise.reject(new Error('not here')) },
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#state, { recursive: true, force: true });
  }
}
