/** Reports touched configuration files. The store decides whether there is a change. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterQuiet, type Logger, type Scope } from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { FolderWatch } from './folder-watch.ts';
import type { Problems } from './problems.ts';

/** Editors write in steps; a file is read when it has been quiet for so long. */
const QUIET_MS = 100;
/** In place of a path. */
const EVERYTHING = 'everything';
const APPS = 'the folders of apps';
const APP_FILE = 'config.yaml';

export interface WatcherOptions {
  readonly paths: DeviceInfo['paths'];
  readonly scope: Scope;
  readonly log: Logger;
  readonly problems: Problems;
  readonly onTouched: (path: string) => Promise<void>;
  /** Files may have changed before watching began: called once when it has. */
  readonly onReady: () => Promise<void>;
}

/** `<etc>/*.yaml`, `<var>/*.yaml` and `<var>/apps/<id>/config.yaml`. Nothing else is looked at: the data of apps may be large. */
export function watchFiles({ paths, scope, log, problems, onTouched, onReady }: WatcherOptions): void {
  const root = join(paths.var, 'apps');
  const apps = new Map<string, FolderWatch>();
  const touched = afterQuiet({
    scope,
    label: (path) => `reload ${path}`,
    ms: QUIET_MS,
    async run(path) {
      try {
        if (path === EVERYTHING) all.look();
        if (path === APPS) await followApps();
        else await (path === EVERYTHING ? onReady() : onTouched(path));
      } catch (error) {
        log.error({ path, err: error }, 'cannot take in a changed configuration file');
      }
    },
  });
  const onTrouble = (error: unknown): void => {
    const message = `cannot watch the configuration files: ${error instanceof Error ? error.message : String(error)}`;
    if (problems.fault('file watcher', 'UNAVAILABLE', message)) log.error({ err: error }, message);
  };
  const onBegin = () => touched(EVERYTHING);
  const onApps = () => touched(APPS);
  const all = new FolderWatch(root, { scope, onName: onApps, onBegin: onApps, onTrouble, looks: false });
  for (const folder of [paths.etc, paths.var]) {
    const onName = (name: string) => {
      if (name.endsWith('.yaml')) touched(join(folder, name));
      else if (name === 'apps') all.look();
    };
    new FolderWatch(folder, { scope, onName, onBegin, onTrouble });
  }

  async function followApps(): Promise<void> {
    const found = await readdir(root, { withFileTypes: true }).catch(() => []);
    const ids = new Set(found.filter((entry) => entry.isDirectory()).map(({ name }) => name));
    for (const [id, watch] of apps) {
      if (ids.has(id)) continue;
      apps.delete(id);
      await watch[Symbol.asyncDispose]();
    }
    for (const id of ids) {
      apps.get(id)?.look(); // one of the same name may have taken its place
      if (apps.has(id)) continue;
      const file = join(root, id, APP_FILE);
      const onName = (name: string) => {
        if (name === APP_FILE) touched(file);
      };
      // It may have come with the folder, or gone before that was watched.
      const onBegin = () => touched(existsSync(file) ? file : EVERYTHING);
      apps.set(id, new FolderWatch(join(root, id), { scope, onName, onBegin, onTrouble, looks: false }));
    }
  }
}
