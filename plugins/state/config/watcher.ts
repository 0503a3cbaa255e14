/** Tells which configuration file somebody touched. What a change means, and whether it is one, is the store's business. */
import { basename, dirname, join } from 'node:path';
import { afterQuiet, type DeviceInfo, type Logger, type Scope } from '@device-core/plugin-api';
import { watch } from 'chokidar';
import type { Problems } from './problems.ts';

/** Editors write in steps; a file is read when it has been quiet for so long. */
const QUIET_MS = 100;
/** In place of a path. */
const EVERYTHING = 'everything';

export interface WatcherOptions {
  readonly paths: DeviceInfo['paths'];
  readonly scope: Scope;
  readonly log: Logger;
  readonly problems: Problems;
  readonly onTouched: (path: string) => Promise<void>;
  /** Files may have changed before watching began: called once when it has. */
  readonly onReady: () => Promise<void>;
}

export function watchFiles(options: WatcherOptions): void {
  const { paths, scope, log, problems } = options;
  const watcher = watch([paths.etc, paths.var], {
    ignoreInitial: true,
    depth: 2,
    ignored: (path, stats) => isForeign(paths, path, stats?.isFile() === true),
  });
  scope.defer('file watcher', () => watcher.close());
  const touched = afterQuiet({
    scope,
    label: (path) => `reload ${path}`,
    ms: QUIET_MS,
    async run(path) {
      try {
        await (path === EVERYTHING ? options.onReady() : options.onTouched(path));
      } catch (error) {
        log.error({ path, err: error }, 'cannot take in a changed configuration file');
      }
    },
  });
  watcher.on('all', (event, path) => {
    if (event !== 'addDir' && event !== 'unlinkDir') touched(path);
  });
  watcher.on('ready', () => touched(EVERYTHING));
  watcher.on('error', (error) => {
    const message = `cannot watch the configuration files: ${error instanceof Error ? error.message : String(error)}`;
    if (problems.fault('file watcher', 'UNAVAILABLE', message)) log.error({ err: error }, message);
  });
}

/** Everything but `<etc>/*.yaml`, `<var>/*.yaml` and `<var>/apps/<id>/config.yaml`: the data of apps may be large. */
function isForeign(paths: DeviceInfo['paths'], path: string, isFile: boolean): boolean {
  const apps = join(paths.var, 'apps');
  if (path === paths.etc || path === paths.var || path === apps) return false;
  const folder = dirname(path);
  if (folder === paths.etc || folder === paths.var) return !path.endsWith('.yaml');
  if (folder === apps) return isFile;
  return dirname(folder) !== apps || basename(path) !== 'config.yaml';
}
