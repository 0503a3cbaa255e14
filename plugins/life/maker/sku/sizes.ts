/** Sizes of the images of two SKUs, and the parts that make the difference. */
import { resolve } from 'node:path';
import { Checkout } from '../image/build/checkout.ts';
import { contentsOf } from '../image/build/contents.ts';
import { skuOf } from '../image/build/sku.ts';

export interface Sizes {
  /** Bytes of all files, not compressed. */
  readonly from: number;
  readonly to: number;
  /** Parts that weigh something else, the largest difference first: `plugin voice`, `package yaml`. */
  readonly parts: readonly { readonly what: string; readonly from: number; readonly to: number }[];
}

/** Throws a Failure where one of them cannot be an image. */
export function sizesOf(a: string, b: string, source: string): Sizes {
  const checkout = new Checkout(source);
  const [from, to] = [weigh(a, checkout), weigh(b, checkout)];
  const total = (parts: ReadonlyMap<string, number>) => [...parts.values()].reduce((sum, bytes) => sum + bytes, 0);
  const parts = [...new Set([...from.keys(), ...to.keys()])]
    .map((what) => ({ what, from: from.get(what) ?? 0, to: to.get(what) ?? 0 }))
    .filter((one) => one.from !== one.to)
    .sort((x, y) => Math.abs(y.to - y.from) - Math.abs(x.to - x.from) || (x.what < y.what ? -1 : 1));
  return { from: total(from), to: total(to), parts };
}

function weigh(file: string, checkout: Checkout): ReadonlyMap<string, number> {
  const sku = skuOf(resolve(file), checkout);
  const { contents, packages } = contentsOf(checkout, sku);
  const sizes = new Map<string, number>();
  for (const [path, content] of contents) {
    const plugin = sku.plugins.find(({ folder, manifest }) => path === manifest || path.startsWith(`${folder}/`));
    // A package may lie in the folder of another.
    const inside = packages.filter((one) => path.startsWith(`${one}/`)).sort((x, y) => y.length - x.length)[0];
    const name = inside?.replace(/^.*node_modules\//, '');
    const what = plugin ? `plugin ${plugin.id}` : name === undefined ? 'core' : `package ${name}`;
    sizes.set(what, (sizes.get(what) ?? 0) + content.bytes().length);
  }
  return sizes;
}
