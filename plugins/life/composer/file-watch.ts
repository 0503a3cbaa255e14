import { afterQuiet, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { watch } from 'chokidar';

/** Calls `changed` when the file has been left alone after an edit, and once when watching begins: it may have been edited before. */
export function watchFile(
  file: string,
  { scope, log, config }: PluginHost<{ readonly quietMs: number }>,
  changed: () => void,
): void {
  const watcher = watch(file, { ignoreInitial: true });
  scope.defer('watch of the SKU', () => watcher.close());
  const soon = afterQuiet({ scope, label: () => 'SKU', ms: config.quietMs, run: changed });
  watcher.on('ready', () => soon());
  watcher.on('add', () => soon()); // an editor that writes a new file and renames it
  watcher.on('change', () => soon());
  watcher.on('unlink', () => log.warn({ file }, 'the SKU file is gone; the device runs on with what it has'));
  watcher.on('error', (thrown) => log.warn({ file, reason: reasonOf(thrown) }, 'cannot watch the SKU file'));
}
