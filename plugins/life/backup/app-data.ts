/** The data of apps on their way into a backup: each app has a share, and one that needs more takes what the others left. */

import { reasonOf } from '@device-core/plugin-api';
import type { Apps } from '@device-core/plugin-api/services/apps';
import { TooMuch } from './head.ts';
import type { LeftOut } from './left-out.ts';
import type { ArchiveWriter } from './writer.ts';

interface Waiting {
  readonly app: string;
  readonly look: () => Promise<void>;
}

interface Share {
  readonly bytes: number;
  readonly entries: number;
}

/** It ends the look at one app, and nothing else. */
class OverShare extends Error {}

export class AppData {
  readonly #writer: ArchiveWriter;
  readonly #left: LeftOut;
  /** Lets apps rest, while it is there. */
  readonly #apps: () => Pick<Apps, 'borrow'> | undefined;
  /** Apps that need more than their share. */
  readonly #waiting: Waiting[] = [];
  #looked = 0;
  #entries = 0;
  #began = 0;
  #share: Share;

  constructor(writer: ArchiveWriter, left: LeftOut, apps: () => Pick<Apps, 'borrow'> | undefined) {
    this.#writer = writer;
    this.#left = left;
    this.#apps = apps;
    this.#share = writer.limits.app;
  }

  /** One entry more of the app that is looked at. Throws where it is over its share. */
  entry(_app: string): void {
    this.#entries += 1;
    const bytes = this.#writer.bytes - this.#began;
    if (this.#entries > this.#share.entries || bytes > this.#share.bytes) throw new OverShare();
  }

  /** Rejects with what the look itself throws. `count` apps have data. */
  async look(app: string, look: () => Promise<void>, count: number): Promise<void> {
    const rest = this.#rest();
    const among = Math.max(1, count - this.#looked);
    this.#looked += 1;
    const share = { bytes: Math.floor(rest.bytes / among), entries: Math.floor(rest.entries / among) };
    if (!(await this.#within(app, look, least(share, this.#writer.limits.app)))) this.#waiting.push({ app, look });
  }

  /** The apps that need more than their share, once all others are in. */
  async again(): Promise<void> {
    for (const { app, look } of this.#waiting.splice(0)) {
      const rest = this.#rest();
      const { app: limits } = this.#writer.limits;
      const share = least(rest, limits);
      if (await this.#within(app, look, share)) continue;
      const most = share.bytes === limits.bytes && share.entries === limits.entries;
      this.#left.app(
        app,
        `its data are more than ${share.bytes >> 20} MiB or ${share.entries} files and folders, ${most ? 'the most of one app' : 'which is all the room that is left'}`,
      );
    }
  }

  /** False where the app is over its share: nothing of it is in the backup then. Nothing of the app writes meanwhile. */
  async #within(app: string, look: () => Promise<void>, share: Share): Promise<boolean> {
    const mark = this.#writer.mark();
    const apps = this.#apps();
    this.#share = share;
    this.#entries = 0;
    this.#began = mark.bytes;
    let looked = false;
    let failed: unknown;
    const work = async () => {
      looked = true;
      try {
        await look();
        if (this.#writer.bytes - this.#began > share.bytes) throw new OverShare();
      } catch (thrown) {
        failed = thrown; // its class is lost where borrow() crosses a border
      }
    };
    try {
      await (apps ? apps.borrow(app, work) : work());
    } catch (thrown) {
      if (looked && failed === undefined) throw thrown;
      if (!looked) {
        this.#left.app(app, reasonOf(thrown));
        return true;
      }
    }
    if (failed === undefined) return true;
    if (!(failed instanceof OverShare || failed instanceof TooMuch)) throw failed;
    await this.#writer.back(mark);
    this.#left.forget(app);
    return false;
  }

  #rest(): Share {
    const { limits, bytes, files } = this.#writer;
    return { bytes: limits.bytes - bytes, entries: limits.files - files };
  }
}

const least = (one: Share, other: Share): Share => ({
  bytes: Math.min(one.bytes, other.bytes),
  entries: Math.min(one.entries, other.entries),
});
