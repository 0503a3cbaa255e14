import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import { defineProgram } from '@device-core/plugin-api/program';
import { Checkout } from '../image/build/checkout.ts';
import { contentsOf } from '../image/build/contents.ts';
import { skuOf } from '../image/build/sku.ts';
import { driftOf, lockFileOf, lockOf, lockText, readLock } from './lock-file.ts';
import { CHECKOUT } from './resolved.ts';

interface Args {
  readonly file: string;
  readonly source: string;
}

/** `devicectl sku lock` */
export const program = defineProgram<Args>({
  description:
    'Writes <sku>.lock.yaml beside the SKU: its files, Node, version and hash of each plugin, and packages with their integrity. Images are built of exactly that.',
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', description: 'of the SKU' },
      source: { type: 'string', default: CHECKOUT, description: 'checkout with its packages' },
    },
  },
  cli: { fixed: ['file'] },
  async run({ out, args }) {
    const checkout = new Checkout(args.source);
    const sku = skuOf(resolve(args.file), checkout);
    const lock = lockOf(args.file, checkout, sku, contentsOf(checkout, sku));
    const file = lockFileOf(args.file);
    // One that cannot be read is no reason to keep it.
    const former = existsSync(file) ? formerOf(args.file) : undefined;
    const drift = former ? driftOf(former, lock, checkout) : [];
    const text = lockText(lock);
    const same = existsSync(file) && readFileSync(file, 'utf8') === text;
    if (!same) await replaceFile(resolve(file), text, { mode: 0o644 });
    const [plugins, packages] = [Object.keys(lock.plugins).length, Object.keys(lock.packages).length];
    if (out.json) return out.line(JSON.stringify({ ok: true, file: resolve(file), changed: !same, drift, lock }));
    await out.line(`${file}: ${plugins} plugins, ${packages} packages, Node ${lock.node}${same ? '; as before' : ''}`);
    for (const { what, text: words } of drift) await out.line(`  ${what} ${words}`);
  },
});

function formerOf(sku: string): ReturnType<typeof readLock> {
  try {
    return readLock(sku);
  } catch {
    return undefined;
  }
}
