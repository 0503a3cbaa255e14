/** A backup is laid out beside the state and checked whole; only then is it ordered, and the next start exchanges the two. */
import { chmod, mkdir, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { maybe, reasonOf, type StateForms } from '@device-core/plugin-api';
import { isStorageTrouble, makeFolder, replaceFile, storageError, syncName } from '@device-core/plugin-api/durable';
import { orderPending, pendingAct, stagedState } from '@device-core/plugin-api/inside/pending-state';
import type { MovedSecret, SecretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import { compare } from '@device-core/plugin-api/inside/versions';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { readArchive } from './archive.ts';
import { objectIn } from './bytes.ts';
import { type Head, invalid } from './head.ts';
import { refused } from './places.ts';

/** A vault that was sealed with the key of a device. */
const VAULT = 'secrets/vault.json';
const OTHER_KEY = 'only the device that made the backup can open them';
/** Folders that an app keeps to itself. */
const DATA = /^(apps\/[^/]+\/data)\//;

export interface Restoring {
  readonly device: DeviceInfo;
  /** Forms that this Core reads and writes. */
  readonly forms: Readonly<Record<string, StateForms>>;
  readonly signal: AbortSignal;
  /** Seals the secrets of a backup with the key of this device. */
  readonly secrets: () => SecretTransfer | undefined;
}

export interface LaidOut {
  readonly files: number;
  /** Why the secrets of the backup are not put back; absent: they are, or there are none. */
  readonly secretsLeft?: string;
}

/** Throws BACKUP_INVALID and the codes of a disk: then nothing is ordered, and nothing of it is left. */
export async function layOut(
  file: string,
  passphrase: string | undefined,
  { device, forms, signal, secrets }: Restoring,
): Promise<LaidOut> {
  const { var: state } = device.paths;
  const staged = stagedState(state);
  if (pendingAct(state) !== undefined) throw invalid('another reset or restore is ordered already: restart first');
  await rm(dirname(staged), { recursive: true, force: true });
  await makeFolder(staged);
  const folders = new Set<string>([staged]);
  let moved: string | undefined;
  let vault = false;
  try {
    const files = await readArchive(file, passphrase, {
      head: (head) => check(head, device, forms),
      refuse: refused,
      secrets(text) {
        moved = text;
      },
      async take({ path, mode }, bytes) {
        signal.throwIfAborted();
        vault ||= path === VAULT;
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
    const reason = moved === undefined ? undefined : await putSecrets(moved, staged, secrets());
    for (const folder of folders) await syncName(join(folder, 'x'));
    orderPending(state, 'restore');
    const secretsLeft = reason ?? (vault && moved === undefined ? OTHER_KEY : undefined);
    return { files, ...maybe({ secretsLeft }) };
  } catch (error) {
    await rm(dirname(staged), { recursive: true, force: true });
    const disk = storageError(staged, error);
    throw isStorageTrouble(disk) ? disk : error;
  }
}

/** The reason why they are not put back. Texts are written sealed alone. Throws BACKUP_INVALID for secrets that are none. */
async function putSecrets(
  text: string,
  staged: string,
  transfer: SecretTransfer | undefined,
): Promise<string | undefined> {
  const { secrets } = objectIn<{ readonly secrets?: unknown }>(text);
  if (!Array.isArray(secrets) || !secrets.every(isMoved)) throw invalid('its secrets are none');
  if (!transfer) return 'no plugin of this device keeps secrets';
  try {
    const sealed = await transfer.sealed(secrets);
    const target = join(staged, sealed.path);
    await makeFolder(dirname(target));
    await replaceFile(target, sealed.text, { mode: 0o600 });
    return undefined;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'PARAMS_INVALID') throw invalid(`its secrets are none: ${reasonOf(error)}`);
    if (code === 'SECRETS_LOCKED') return reasonOf(error);
    throw error;
  }
}

function isMoved(one: unknown): one is MovedSecret {
  const { key, text, at, by } = Object(one) as Partial<Record<keyof MovedSecret, unknown>>;
  return [key, text, by].every((each) => typeof each === 'string') && Number.isFinite(at);
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
