import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { SkuManifest } from '@device-core/plugin-api';
import { readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { type Input, readAliases } from './input.ts';
import { code, fence, page, table } from './markdown.ts';

/** Medians of several starts with a warm compile cache. */
export interface VariantCost {
  /** User and system time of the Core's process from exec to listening. */
  readonly startCpuMs: number;
  readonly startMs: number;
  /** Resident, three seconds after the start. */
  readonly memoryMiB: number;
  /** The same of its child processes. */
  readonly othersMiB: number;
}

export interface Measurements {
  readonly date: string;
  readonly node: string;
  readonly machine: string;
  readonly variants: Readonly<Record<string, VariantCost>>;
}

/** docs/reference/variants.md */
export function variantsPage({ manifests }: Input): string {
  const skus = readSkus();
  const measured = readMeasurements();
  const summaries = new Map([...manifests.map(({ id, summary }) => [id, summary] as const), ...readAliases()]);
  const has = ({ plugins }: SkuManifest, id: string) => {
    const line = plugins[id];
    if (line === undefined) return '';
    return typeof line !== 'string' && line.essential ? 'essential' : 'yes';
  };
  const used = [...summaries.keys()].filter((id) => skus.some(({ plugins }) => id in plugins));
  return page(
    'Variants',
    'Products that come with the tree, each a file in `manifests/skus`. Every one is started as a process of its own in the tests.',
    table(
      ['variant', 'what', 'plugins'],
      skus.map((sku) => [code(sku.id), sku.title, String(Object.keys(sku.plugins).length)]),
    ),
    '## What they take',
    ...(measured
      ? [
          `Measured on ${measured.date} with node ${measured.node} on ${measured.machine}, with a warm compile cache; medians. Measure yours with \`node docs/reference/generate.ts --measure\`.`,
          table(
            ['variant', 'start, CPU', 'start, wall', 'memory of the Core', 'of its child processes'],
            skus.flatMap(({ id }) => {
              const cost = measured.variants[id];
              if (!cost) return [];
              return [
                [
                  code(id),
                  `${cost.startCpuMs} ms`,
                  `${cost.startMs} ms`,
                  `${cost.memoryMiB} MiB`,
                  `${cost.othersMiB} MiB`,
                ],
              ];
            }),
          ),
        ]
      : ['Not measured yet: `node docs/reference/generate.ts --measure`.']),
    '## Which plugins they have',
    'Without an `essential` plugin the Core is `failed`, and nobody can ask it why over HTTP. Without any other one it is `degraded` at most, and health, HTTP and switching that plugin off keep working.',
    table(
      ['plugin', ...skus.map(({ id }) => id), 'what'],
      used.map((id) => [code(id), ...skus.map((sku) => has(sku, id)), summaries.get(id) ?? '']),
    ),
    '## safe-mode',
    'For a device that does not come up any more. `node kernel/start.js --safe-mode` (with the `--root` or `--system` of the device) runs this list instead of the SKU. Of the SKU that `--sku` names it keeps the lines listed in `safeMode`, with their configuration: the screen that shows the error, for example. It does not look at the rest of the SKU nor at what was installed. So nothing that is wrong with them matters. Only one Core runs on a root: end one that hangs first. If TCP port 55280 is taken it serves the Unix socket alone.',
    'It answers what an operator asks then:',
    fence(
      'sh',
      [
        'devicectl status                  # also warns how the last start ended',
        'devicectl logs --last-start       # its errors, and the plugins to look at, the most likely first',
        'devicectl logs --level warn -n 200',
        'devicectl plugin disable <id>     # for good; of the SKU, or installed',
        'devicectl plugin rollback <id>    # an installed one to its last good version',
      ].join('\n'),
    ),
    'Then start the device as always. A plugin that was switched off stays off until `devicectl plugin enable`.',
  );
}

function readSkus(): readonly SkuManifest[] {
  const folder = fileURLToPath(new URL('../../../manifests/skus', import.meta.url));
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && !name.endsWith('.lock.yaml'))
    .sort()
    .map((name) => readSkuFamily(`${folder}/${name}`).value);
}

function readMeasurements(): Measurements | undefined {
  const file = new URL('../variants.json', import.meta.url);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Measurements) : undefined;
}
