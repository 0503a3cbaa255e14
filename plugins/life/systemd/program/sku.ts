import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SkuManifest } from '@device-core/plugin-api';
import { flatSkuText, readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { manifestInTree, treeManifests } from '@device-core/plugin-api/inside/tree';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';

export interface ServiceSku {
  readonly sku: SkuManifest;
  /** As it is installed: with the name of its service. */
  readonly text: string;
  /** Whether a plugin says that it reaches beyond the device. */
  readonly reachesOut: (plugin: string) => boolean;
}

/** The SKU of a device that is installed as `service`. Throws a Failure that says what keeps it from being one. */
export async function skuForService(file: string, service: string | undefined, checkout: string): Promise<ServiceSku> {
  const own = await readFile(file, 'utf8').catch((error: Error) => {
    throw usage(`cannot read the SKU: ${error.message}`);
  });
  checked(file, checkout);
  const family = readSkuFamily(file);
  const { value: sku } = family;
  // The extended files are missing on the device.
  const source = family.files.length === 1 ? own : flatSkuText(family);
  const wrong = (line: string, text: string) =>
    new Failure(EXIT.answered, 'SKU_INVALID', `${file}: ${text}`, { hint: line });
  if (!('systemd' in sku.plugins))
    throw wrong(
      'add to its plugins: systemd: ^1.0.0',
      'it has no plugin systemd, which reports that the Core is ready',
    );
  for (const [id, line] of Object.entries(sku.plugins))
    if (typeof line === 'object' && line.path !== undefined && !line.path.startsWith('/'))
      throw wrong('name it by an absolute path of the device', `plugin ${id} lies beside the SKU, which is copied`);
  if (service !== undefined && sku.service !== undefined && sku.service !== service)
    throw wrong('leave --service out', `its service is ${sku.service}, not ${service}`);
  const name = sku.service ?? service;
  const text = sku.service === undefined && name !== undefined ? `${source.trimEnd()}\nservice: ${name}\n` : source;
  if ((parseYaml(text).value as SkuManifest | undefined)?.service !== name)
    throw wrong('write it as a block, one member a line', 'the name of its service cannot be added');
  const manifests = treeManifests(checkout);
  const texts = new Map<string, string>();
  for (const id of Object.keys(sku.plugins)) {
    const manifest = manifestInTree(checkout, id, manifests);
    if (manifest !== undefined) texts.set(id, await readFile(manifest, 'utf8'));
  }
  const reachesOut = (id: string) => {
    const { capabilities = [] } = (parseYaml(texts.get(id) ?? '{}').value ?? {}) as { capabilities?: string[] };
    return capabilities.some((capability) => capability.split(':')[0] === 'network.outbound');
  };
  return { sku, text, reachesOut };
}

/** The Core of the checkout that is installed checks it, in a process of its own: a plugin has no way into the kernel. */
function checked(file: string, checkout: string): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(checkout, 'kernel/main.ts'), 'check', file], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Failure(EXIT.answered, 'SKU_INVALID', `${stdout}${stderr}`.trim());
}
