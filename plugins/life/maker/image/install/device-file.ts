/** Writes `/etc/<service>/device.yaml`. */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder, replaceFile } from '@device-core/plugin-api/durable';
import { type DeviceFile, parseDeviceFile } from '@device-core/plugin-api/inside/device-file';
import { usage } from '@device-core/plugin-api/program';
import { stringify } from 'yaml';

/** Throws a usage error with the member that is wrong. */
export function provisionFrom(file: string | undefined): DeviceFile {
  if (file === undefined) return {};
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw usage(`cannot read what is true of the device: ${(error as Error).message}`);
  }
  const { file: provision, problem } = parseDeviceFile(text);
  if (problem !== undefined) throw usage(`${file}: ${problem}`);
  return provision;
}

/** Writes it, and gives the id. One that is there keeps its id: the device is the same. */
export async function deviceFile(path: string, provision: DeviceFile): Promise<string> {
  const before = existsSync(path) ? provisionFrom(path) : {};
  const { id = before.id ?? randomUUID(), ...rest } = provision;
  const text = stringify({ id, ...before, ...rest, ...(provision.id && { id }) });
  await makeFolder(dirname(path), 0o755);
  await replaceFile(path, `# What is true of this device alone. No update touches it.\n${text}`, { mode: 0o644 });
  return id;
}
