/** A backup is laid out beside the state and checked whole; only then is it ordered, and the next start exchanges the two. */
import { chmod, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { StateForms } from '@device-core/plugin-api';
import { isStorageTrouble, makeFolder, storageError, syncName } from '@device-core/plugin-api/durable';
import { compare } from '@device-core/plugin-api/kits/versions';
import { orderPending, pendingAct, stagedState } from '@device-core/plugin-api/pending-state';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { type Head, invalid, readArchive } from './archive.ts';
import { refused } from './places.ts';

/** What an app keeps to itself. */
const DATA = /^(apps\/[^/]+\/data)\//;

export interface Restoring {
  readonly device: DeviceInfo;
  /** What this Core reads and writes. */
  readonly forms: Readonly<Record<string, StateForms>>;
  readonly signal: AbortSignal;
}

/** Throws BACKUP_INVALID and the codes of a disk: then nothing is ordered, and nothing of it is left. */
export async function layOut(
  file: string,
  passphrase: string | undefined,
  { device, forms, signal }: Restoring,
): Promise<number> {
  const { var: state } = device.paths;
  const staged = stagedState(state);
  if (pendingAct(state) !== undefined) throw invalid('another reset or restore is ordered already: restart first');
  await rm(dirname(staged), { recursive: true, force: true });
  await makeFolder(staged);
  const folders = new Set<string>([staged]);
  try {
    const files = await readArchive(file, passphrase, {
      head: (head) => check(head, device, forms),
      refuse: refused,
      async take({ path, mode }, bytes) {
        signal.throwIfAborted();
        const target = join(staged, path);
        // Apps of other users pass through to their own folder, as they do in the state itself.
        await mkdir(dirname(target), { recursive: true, mode: 0o711 });
        // And no further.
        const [, data] = DATA.exec(path) ?? [];
        if (data !== undefined && !folders.has(join(staged, data))) await chmod(join(staged, data), 0o700);
        if (data !== undefined) folders.add(join(staged, data));
        folders.add(dirname(target));
        await using out = await open(target, 'wx', mode);
        for await (const chunk of bytes) await out.writeFile(chunk);
        await out.sync();
      },
    });
    for (const folder of folders) await syncName(join(folder, 'x'));
    orderPending(state, 'restore');
    return files;
  } catch (error) {
    await rm(dirname(staged), { recursive: true, force: true });
    const disk = storageError(staged, error);
    throw isStorageTrouble(disk) ? disk : error;
  }
}

function check(head: Head, { sku, core }: DeviceInfo, known: Restoring['forms']): void {
  if (head.sku !== sku.id) throw invalid(`it is of SKU ${JSON.stringify(head.sku)}, this device is ${sku.id}`);
  if (typeof head.core !== 'string' || typeof head.forms !== 'object' || head.forms === null)
    throw invalid('its first line is none');
  for (const [store, { writes } = { writes: 0 }] of Object.entries(head.forms) as [string, StateForms][]) {
    const mine = known[store];
    if (mine && !mine.reads.includes(writes)) {
      const newer = writes > mine.writes ? ', which is newer' : '';
      throw invalid(`${store} has form ${writes}${newer}; this Core reads ${mine.reads.join(', ')}`);
    }
  }
  if (newer(head.core, core.version)) throw invalid(`it was made by Core ${head.core}, this one is ${core.version}`);
}

function newer(one: string, other: string): boolean {
  try {
    return compare(one, other) > 0;
  } catch {
    throw invalid('its first line names no version');
  }
}
