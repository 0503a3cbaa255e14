import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SkuManifest } from '@device-core/plugin-api';
import { ImageError, platformHere } from '@device-core/plugin-api/inside/image';
import { SlotRefused } from '@device-core/plugin-api/inside/slot-files';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { asFolder } from '../archive.ts';
import { Checkout } from '../build/checkout.ts';
import { skuPlace } from '../build/contents.ts';
import { loaderTree } from '../build/tree.ts';
import { listOf } from '../list.ts';
import { type ImageSource, invalid, openImage } from '../source.ts';
import { keysFrom } from '../verify.ts';
import { deviceFile, provisionFrom } from './device-file.ts';
import { placeDevice } from './place.ts';

const CHECKOUT = resolve(import.meta.dirname, '../../../../..');

interface Args {
  readonly root: string;
  readonly image: string;
  readonly keys: string;
  readonly provision?: string;
  readonly source: string;
}

/** `devicectl image install` */
export const program = defineProgram<Args>({
  description:
    'Makes a device of a mounted system and an image: boot loader, slot a, keys, units and device.yaml. It starts with the next boot of that system.',
  params: {
    type: 'object',
    required: ['root', 'image', 'keys'],
    properties: {
      root: { type: 'string', description: 'tree of the system, mounted' },
      image: { type: 'string', description: 'folder or archive of the image' },
      keys: { type: 'string', description: 'keys.json: who may sign what this device starts' },
      provision: { type: 'string', description: 'YAML with id, serial and calibration of this very device' },
      source: { type: 'string', default: CHECKOUT, description: 'checkout that gives loader and units' },
    },
  },
  cli: { fixed: ['root'] },
  async run({ out, args }) {
    const root = resolve(args.root);
    if (root === '/' || !statSync(root, { throwIfNoEntry: false })?.isDirectory())
      throw usage(`${args.root} is no tree of a system`, 'mount one');
    const checkout = new Checkout(args.source);
    const keys = keysFrom(args.keys);
    const provision = provisionFrom(args.provision);
    const folder = mkdtempSync(join(tmpdir(), 'device-install-'));
    try {
      using source = openImage(args.image);
      const service = serviceOf(source);
      const system = join(root, `var/lib/${service}-system`);
      const sku = join(folder, 'sku.yaml');
      writeFileSync(sku, skuText(source));
      const loader = loaderOf(checkout);
      const placed = await placeDevice({
        system,
        keys,
        loader,
        image: asFolder(args.image, source, join(folder, 'image')),
      });
      selfCheck(system, service);
      units(checkout, root, sku, service);
      const id = await deviceFile(join(root, `etc/${service}/device.yaml`), provision);
      const device = { service, ...placed, id };
      if (out.json) return out.line(JSON.stringify({ ok: true, root, ...device }));
      await out.line(
        `${root} is device ${id}: ${source.image.sku} ${placed.version} in slot a of /var/lib/${service}-system`,
      );
      await out.line(`  loader ${placed.loader}; ${keys.threshold} of ${keys.keys.length} keys must have signed`);
      await out.line('  it starts with the next boot of that system');
      if (process.getuid?.() !== 0) await out.line('  its files are yours, and have to be root’s before it boots');
    } catch (error) {
      if (!(error instanceof SlotRefused)) throw error;
      throw new Failure(EXIT.answered, error.code, `${args.image}: ${error.message}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
});

export function loaderOf(checkout: Checkout): Parameters<typeof placeDevice>[0]['loader'] {
  const contents = loaderTree(checkout);
  const facts = {
    sku: 'loader',
    version: checkout.package.version,
    builtAt: checkout.time,
    plugins: {},
    minLoader: 0,
    state: {},
    severity: 'normal' as const,
  };
  return { contents, list: listOf(contents, { ...facts, platform: platformHere() }) };
}

export function skuText({ image, read }: Pick<ImageSource, 'image' | 'read'>): string {
  const path = skuPlace(image.sku);
  const file = image.files.find((one) => one.path === path);
  if (file === undefined) throw new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `the image holds no ${path}`);
  try {
    return read(file).toString('utf8');
  } catch (error) {
    throw error instanceof ImageError ? invalid(`the SKU of image ${image.version}`, error) : error;
  }
}

export const serviceOf = (source: Pick<ImageSource, 'image' | 'read'>): string =>
  (parseYaml(skuText(source)).value as SkuManifest).service ?? 'device';

/** The loader itself looks at what it will start. */
function selfCheck(system: string, service: string): void {
  const current = join(system, 'boot/current');
  const words = [join(current, 'kernel/init/main.js'), 'self-check', '--service', service, '--system', system];
  const { status, stderr, error } = spawnSync(join(current, 'bin/node'), words, { encoding: 'utf8' });
  if (status === 0) return;
  throw new Failure(
    EXIT.answered,
    'SYSTEM_IMAGE_INVALID',
    `the loader cannot start it: ${error?.message ?? stderr.trim()}`,
  );
}

/** By the plugin whose units they are, in a process of its own: a plugin imports no other. */
export function units(checkout: Checkout, root: string, sku: string, service: string): void {
  const ctl = checkout.path('plugins/interface/cli/program/devicectl.ts');
  const words = [
    'system',
    'install',
    '--slots',
    '--root',
    root,
    '--sku',
    sku,
    '--service',
    service,
    '--source',
    checkout.folder,
  ];
  const { status, stdout, stderr } = spawnSync(checkout.node, [ctl, ...words], { encoding: 'utf8' });
  if (status !== 0) throw new Failure(EXIT.answered, 'INTERNAL', `${stdout}${stderr}`.trim());
}
