/** Tells which configuration file somebody touched. What a change means, and whether it is one, is the store's business. */
import { basename, dirname, join } from 'node:path';
import type { DeviceInfo, Logger, Scope } from '@device-core/plugin-api';
import { watch } from 'chokidar';
import type { Problems } from './problems.ts';

/** Editors write in steps; a file is read when it has been quiet for so long. */
const QUIET_MS = 100;

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
  const pending = new Map<string, Disposable>();
  const watcher = watch([paths.etc, paths.var], {
    ignoreInitial: true,
    depth: 2,
    ignored: (path, stats) => isForeign(paths, path, stats?.isFile() === true),
  });
  scope.defer('file watcher', () => watcher.close());
  const run = (path: string, work: () => Promise<void>) => {
    pending.get(path)?.[Symbol.dispose]();
    if (scope.signal.aborted) return;
    const timer = scope.timeout(`reload ${path}`, QUIET_MS, async () => {
      pending.delete(path);
      try {
        await work();
      } catch (error) {
        log.error({ path, err: error }, 'cannot take in a changed configuration file');
      }
    });
    pending.set(path, timer);
  };
  watcher.on('all', (event, path) => {
    if (event !== 'addDir' && event !== 'unlinkDir') run(path, () => options.onTouched(path));
  });
  watcher.on('ready', () => run('everything', options.onReady));
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
