/**
 * Makes a device of an image: loader, keys, slot a and the record that names it. For a mounted tree and for the device
 * itself, where a package brings all of it; so it imports Node and what the loader has of plugin-api alone.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { moveFolder, replaceFileSync, syncName } from '@device-core/plugin-api/durable';
import { newRecord } from '@device-core/plugin-api/inside/boot-record';
import { IMAGE_LIST, type ImageKeys, imageHash, parseImage } from '@device-core/plugin-api/inside/image';
import { RecordFile } from '@device-core/plugin-api/inside/record-file';
import { activated, foundGood, SlotRefused, SlotWriter } from '@device-core/plugin-api/inside/slot-files';
import type { Contents, ImageList } from '../list.ts';
import { unpack } from '../write.ts';

export interface Placing {
  /** `/var/lib/<service>-system` of the device, as it is seen here. */
  readonly system: string;
  /** Absolute path of an image folder. */
  readonly image: string;
  readonly keys: ImageKeys;
  readonly loader: { readonly contents: Contents; readonly list: Pick<ImageList, 'image' | 'bytes' | 'hash'> };
}

export interface Placed {
  readonly image: string;
  readonly version: string;
  /** Folder of the loader below `boot/`. */
  readonly loader: string;
}

/** A record that says anything but that both slots are empty is somebody's, damaged or not. */
export function isDevice(system: string): boolean {
  const { kind, record } = new RecordFile(join(system, 'boot/record')).read();
  return kind !== 'none' && (kind !== 'record' || Object.values(record.slots).some(({ state }) => state !== 'empty'));
}

/** Throws SlotRefused: SYSTEM_IMAGE_INVALID, SIGNATURE_INVALID, and SLOTS_UNAVAILABLE where a slot has an image already. */
export async function placeDevice({ system, image: folder, keys, loader }: Placing): Promise<Placed> {
  const record = new RecordFile(join(system, 'boot/record'));
  if (isDevice(system))
    throw new SlotRefused(
      'SLOTS_UNAVAILABLE',
      `${system} is a device already: devicectl update install gives it another image`,
    );
  for (const path of ['boot', 'slots']) mkdirSync(join(system, path), { recursive: true, mode: 0o755 });
  const name = await placeLoader(system, loader);
  await pointAt(join(system, 'boot/current'), name);
  replaceFileSync(join(system, 'boot/keys.json'), `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o644 });
  // Nothing runs: the slot that is not the primary one is written, so b is for now.
  record.write(newRecord({}, 'b'));
  const writer = new SlotWriter({ system, boot: join(system, 'no-boot') });
  const { image: hash, version } = writer.inspect(folder);
  await writer.stage(folder);
  const { builtAt } = parseImage(listAt(join(system, 'slots/a')));
  // It was started when it was built, and there is nothing to fall back to: it is not on trial.
  record.change((now) => foundGood(activated(now, 'a'), 'a', { version, image: hash, builtAt }));
  return { image: hash, version, loader: name };
}

/** Beside those that are there. Gives the name of its folder. */
export async function placeLoader(system: string, { contents, list }: Placing['loader']): Promise<string> {
  const name = `${list.image.version}-${list.hash.slice('sha256:'.length, 'sha256:'.length + 12)}`;
  const place = join(system, 'boot', name);
  if (!existsSync(join(place, IMAGE_LIST)) || imageHash(listAt(place)) !== list.hash) {
    const beside = `${place}.new`;
    rmSync(beside, { recursive: true, force: true });
    const all = new Map(contents).set(IMAGE_LIST, { mode: 0o644, bytes: () => list.bytes });
    unpack(all, beside);
    await moveFolder(beside, place, all.keys());
  }
  return name;
}

const listAt = (folder: string): Buffer => readFileSync(join(folder, IMAGE_LIST));

/** By rename: whoever looks finds the old one or the new one. */
export async function pointAt(link: string, name: string): Promise<void> {
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(link) === name) return;
  rmSync(`${link}.new`, { force: true });
  symlinkSync(name, `${link}.new`);
  renameSync(`${link}.new`, link);
  await syncName(link);
}
