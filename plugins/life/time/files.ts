import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { CoreError, type Scope } from '@device-core/plugin-api';
import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';
import type { Provider } from './provider.ts';
import type { SetFlag } from './set-flag.ts';
import { zoneOf } from './zone.ts';

export interface FilesOptions {
  readonly scope: Scope;
  readonly flag: SetFlag;
  readonly localtime: string;
  readonly changed: () => void;
  /** Why timedated is not asked. */
  readonly without: string;
}

/** State in files: the zone of the system, and the flag of the program that sets the clock. */
export class FilesTime implements Provider {
  readonly name = 'files';
  readonly #options: FilesOptions;

  constructor(options: FilesOptions) {
    this.#options = options;
    const { scope, localtime, changed } = options;
    let watcher: FSWatcher | undefined;
    scope.defer('zone of the system', () => watcher?.close());
    try {
      watcher = watch(dirname(localtime), { persistent: false }, (_, file) => {
        if (file === basename(localtime)) changed();
      });
      watcher.once('error', () => watcher?.close());
    } catch {
      watcher = undefined; // a system without such a folder has no zone that changes
    }
  }

  async look(): Promise<WallTimeState> {
    const { flag, localtime } = this.#options;
    return { set: await flag.look(), zone: await zoneOf(localtime) };
  }

  async setZone(): Promise<never> {
    throw new CoreError('UNAVAILABLE', { what: 'the time zone of the system', reason: this.#options.without });
  }
}
