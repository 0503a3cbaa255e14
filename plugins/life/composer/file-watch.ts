import { stat } from 'node:fs/promises';
import { afterQuiet, type PluginHost, reasonOf } from '@device-core/plugin-api';
import { skuFiles } from '@device-core/plugin-api/inside/sku-family';
import { watch } from 'chokidar';

/** The device read the file before it noted its start, and not longer before than this. */
const READ_BEFORE_MS = 60_000;

/**
 * Looks after an edit, in quiet times: an edit that came before chokidar had found the file is told by nobody
 * (`ignoreInitial` holds for later files too).
 */
const LOOKS = [1, 5, 25];

/**
 * Calls `changed` when the SKU, or one that it extends, has been left alone after an edit. Also when watching begins,
 * where one may have been edited since the device read it: to resolve a SKU costs a small board a second, and most
 * starts follow no edit.
 */
export function watchSku(
  file: string,
  { scope, log, config }: PluginHost<{ readonly quietMs: number }>,
  startedAt: number,
  changed: () => void,
): void {
  const files = skuFiles(file);
  const watcher = watch([...files], { ignoreInitial: true });
  scope.defer('watch of the SKU', () => watcher.close());
  let seen = '';
  let looks: readonly Disposable[] = [];
  const run = async () => {
    const family = skuFiles(file);
    seen = await stamps(family);
    // An edit may extend another file. One that is extended no longer stays watched: a look too many changes nothing.
    watcher.add([...family]);
    for (const look of looks) look[Symbol.dispose]();
    looks = LOOKS.map((times) =>
      scope.timeout('look at the SKU', times * config.quietMs, async () => {
        if ((await stamps(family)) !== seen) soon();
      }),
    );
    return changed();
  };
  const soon = afterQuiet({ scope, label: () => 'SKU', ms: config.quietMs, run });
  watcher.on('ready', async () => {
    // By ctime: a file that is moved here keeps its time of change, but not this one. One that is gone is told below.
    const edits = await Promise.all(files.map((one) => stat(one).catch(() => ({ ctimeMs: 0 }))));
    const edited = edits.some(({ ctimeMs }) => ctimeMs > startedAt - READ_BEFORE_MS);
    if (edited && !scope.signal.aborted) soon();
  });
  watcher.on('add', () => soon()); // an editor that writes a new file and renames it
  watcher.on('change', () => soon());
  watcher.on('unlink', (gone) => {
    log.warn({ file: gone }, 'the SKU file is gone; the device runs on with what it has');
  });
  watcher.on('error', (thrown) => log.warn({ file, reason: reasonOf(thrown) }, 'cannot watch the SKU file'));
}

/** Stamps of files, which an edit changes; a missing file has a stamp too. */
async function stamps(files: readonly string[]): Promise<string> {
  const each = files.map((one) =>
    stat(one).then(
      ({ ino, size, ctimeMs }) => `${ino}:${size}:${ctimeMs}`,
      () => '-',
    ),
  );
  return (await Promise.all(each)).join(' ');
}
