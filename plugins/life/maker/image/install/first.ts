/**
 * Runs when a Debian package is configured on the device: the first time it makes a device of the image that it
 * brings; afterwards it puts the loader right and leaves the image to the updater. It imports Node and modules that
 * need no package. `first.js SERVICE`; exit code 10: there is a device already.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFileSync } from '@device-core/plugin-api/durable';
import { IMAGE_LIST, type ImageKeys, imageHash, parseImage } from '@device-core/plugin-api/inside/image';
import type { Content } from '../list.ts';
import { unpackArchive } from '../unpack-archive.ts';
import { isDevice, type Placing, placeDevice, placeLoader, pointAt } from './place.ts';

const service = process.argv[2] ?? '';
if (!/^[a-z][a-z0-9]{0,15}$/.test(service)) throw new Error('usage: first.js SERVICE');
const system = `/var/lib/${service}-system`;
const loader = loaderAt(`/usr/lib/${service}/boot`);

try {
  if (isDevice(system)) {
    await refreshLoader();
    process.exitCode = 10;
  } else await make();
} catch (error) {
  console.error(`${service}: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function make(): Promise<void> {
  const image = join(system, 'unpacked');
  rmSync(image, { recursive: true, force: true });
  try {
    unpackArchive(`/usr/share/${service}/image/image.tar`, image);
    const keys = JSON.parse(readFileSync(`/usr/share/${service}/keys.json`, 'utf8')) as ImageKeys;
    const placed = await placeDevice({ system, image, keys, loader });
    console.log(`${service}: ${placed.version} is in slot a`);
  } finally {
    rmSync(image, { recursive: true, force: true });
  }
  const file = `/etc/${service}/device.yaml`;
  if (existsSync(file)) return;
  mkdirSync(`/etc/${service}`, { recursive: true, mode: 0o755 });
  replaceFileSync(file, `# What is true of this device alone. No update touches it.\nid: ${randomUUID()}\n`, {
    mode: 0o644,
  });
}

/** A loader that cannot do with what lies here does not take the place of one that can. The one before stays. */
async function refreshLoader(): Promise<void> {
  const boot = join(system, 'boot');
  const before = readlinkSync(join(boot, 'current'));
  const name = await placeLoader(system, loader);
  if (name === before) return;
  const words = [join(boot, name, 'kernel/init/main.js'), 'self-check', '--service', service, '--system', system];
  const { status, stderr } = spawnSync(join(boot, name, 'bin/node'), words, { encoding: 'utf8' });
  if (status !== 0) {
    rmSync(join(boot, name), { recursive: true, force: true });
    throw new Error(`the new loader cannot do with this device, and the old one stays: ${stderr.trim()}`);
  }
  await pointAt(join(boot, 'current'), name);
  for (const entry of readdirSync(boot, { withFileTypes: true }))
    if (entry.isDirectory() && entry.name !== name && entry.name !== before)
      rmSync(join(boot, entry.name), { recursive: true, force: true });
}

function loaderAt(folder: string): Placing['loader'] {
  const bytes = readFileSync(join(folder, IMAGE_LIST));
  const image = parseImage(bytes);
  const contents = image.files.map(({ path, mode }): [string, Content] => [
    path,
    { mode, bytes: () => readFileSync(join(folder, path)) },
  ]);
  return { contents: new Map(contents), list: { image, bytes, hash: imageHash(bytes) } };
}
