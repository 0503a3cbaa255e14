import { readFile } from 'node:fs/promises';
import { parseYaml } from '@device-core/plugin-api/kits/yaml';

/** `id` of the file that the OEM wrote when the device was made; undefined where there is none. */
export async function deviceId(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => ''); // a checkout, or a device without one
  const { id } = Object(parseYaml(text).value) as { readonly id?: unknown };
  return typeof id === 'string' && id !== '' ? id : undefined;
}
