import { basename, join } from 'node:path';
import { afterQuiet, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { watch } from 'chokidar';
import { MANIFEST } from './app-catalog.ts';

/** One change of a folder is many events: they are looked at together. */
const SETTLE_MS = 200;

/** Calls `changed` after manifests came, changed or went. */
export function watchFolders(
  folders: readonly string[],
  installed: string,
  scope: Scope,
  log: Logger,
  changed: () => Promise<void>,
): void {
  const watcher = watch([installed, ...folders.map((folder) => join(folder, MANIFEST))], {
    depth: 1,
    ignoreInitial: true,
    awaitWriteFinish: { stabilityThreshold: 150, pollInterval: 50 },
    ignored: (path, stats) => stats?.isFile() === true && basename(path) !== MANIFEST,
  });
  scope.defer('folder watch', () => watcher.close());
  const look = afterQuiet({ scope, label: () => 'folder watch', ms: SETTLE_MS, run: changed });
  watcher.on('all', () => look());
  watcher.on('ready', () => look()); // what came while it looked for the first time was not told
  watcher.on('error', (thrown) => log.warn({ reason: reasonOf(thrown) }, 'cannot watch the folders of apps'));
}
