import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import type { Parts } from './parts.ts';

/** `id` of the file that the OEM wrote when the device was made; undefined where there is none. */
export async function deviceId(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => ''); // a checkout, or a device without one
  const { id } = Object(parseYaml(text).value) as { readonly id?: unknown };
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** The id of the OEM, or one that is made once and kept in the journal. */
export async function ownId({ device, journal }: Pick<Parts, 'device' | 'journal'>): Promise<string> {
  const known = (await deviceId(join(device.paths.etc, 'device.yaml'))) ?? journal.record.device;
  if (known !== undefined) return known;
  const made = randomUUID();
  await journal.note({ device: made });
  return made;
}
