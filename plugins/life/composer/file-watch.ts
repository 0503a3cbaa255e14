import { stat } from 'node:fs/promises';
import { afterQuiet, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { watch } from 'chokidar';

/** The device read the file before it noted its start, and not longer before than this. */
const READ_BEFORE_MS = 60_000;

/**
 * Calls `changed` when the file has been left alone after an edit. Also when watching begins, where the file may have been edited since the device
 * read it: to resolve a SKU costs a small board a second, and most starts follow no edit.
 */
export function watchFile(
  file: string,
  { scope, log, config }: PluginHost<{ readonly quietMs: number }>,
  startedAt: number,
  changed: () => void,
): void {
  const watcher = watch(file, { ignoreInitial: true });
  scope.defer('watch of the SKU', () => watcher.close());
  const soon = afterQuiet({ scope, label: () => 'SKU', ms: config.quietMs, run: changed });
  watcher.on('ready', async () => {
    // By ctime: a file that is moved here keeps its time of change, but not this one. One that is gone is told below.
    const { ctimeMs } = await stat(file).catch(() => ({ ctimeMs: 0 }));
    if (ctimeMs > startedAt - READ_BEFORE_MS && !scope.signal.aborted) soon();
  });
  watcher.on('add', () => soon()); // an editor that writes a new file and renames it
  watcher.on('change', () => soon());
  watcher.on('unlink', () => log.warn({ file }, 'the SKU file is gone; the device runs on with what it has'));
  watcher.on('error', (thrown) => log.warn({ file, reason: reasonOf(thrown) }, 'cannot watch the SKU file'));
}
