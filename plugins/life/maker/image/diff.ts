import type { Image, ImageFile } from '@device-core/plugin-api/inside/image';
import { defineProgram } from '@device-core/plugin-api/program';
import { megabytes } from './inspect.ts';
import { openImage } from './source.ts';

export interface ImageDifference {
  readonly added: readonly ImageFile[];
  readonly removed: readonly ImageFile[];
  readonly changed: readonly ImageFile[];
  /** Plugin -> version before and after; absent where it is not there. */
  readonly plugins: Readonly<Record<string, { readonly from?: string; readonly to?: string }>>;
  /** Stores whose form changes. */
  readonly state: Readonly<Record<string, { readonly from?: number; readonly to?: number }>>;
  /** Bytes of contents that the first image does not have, as they lie on a disk. */
  readonly fresh: number;
}

export function differenceBetween(from: Image, to: Image): ImageDifference {
  const before = new Map(from.files.map((file) => [file.path, file]));
  const after = new Map(to.files.map((file) => [file.path, file]));
  const known = new Set(from.files.map(({ sha256 }) => sha256));
  const same = ({ sha256, mode }: ImageFile, other: ImageFile | undefined) =>
    other?.sha256 === sha256 && other.mode === mode;
  const fresh = new Map(to.files.flatMap(({ sha256, size }) => (known.has(sha256) ? [] : [[sha256, size] as const])));
  return {
    added: to.files.filter(({ path }) => !before.has(path)),
    removed: from.files.filter(({ path }) => !after.has(path)),
    changed: to.files.filter((file) => before.has(file.path) && !same(file, before.get(file.path))),
    plugins: changesOf(from.plugins, to.plugins, (version) => version),
    state: changesOf(from.state, to.state, ({ writes }) => writes),
    fresh: [...fresh.values()].reduce((sum, size) => sum + size, 0),
  };
}

function changesOf<V, S>(
  from: Readonly<Record<string, V>>,
  to: Readonly<Record<string, V>>,
  shown: (value: V) => S,
): Record<string, { from?: S; to?: S }> {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort();
  const found = names.map((name) => {
    const [one, two] = [from[name], to[name]];
    return [
      name,
      { ...(one !== undefined && { from: shown(one) }), ...(two !== undefined && { to: shown(two) }) },
    ] as const;
  });
  return Object.fromEntries(found.filter(([, change]) => change.from !== change.to));
}

/** `devicectl image diff` */
export const program = defineProgram<{ readonly before: string; readonly after: string; readonly files?: boolean }>({
  description: 'What changes for a device that goes from one image to another, and how much of it is new.',
  params: {
    type: 'object',
    required: ['before', 'after'],
    properties: {
      before: { type: 'string', description: 'image that a device has' },
      after: { type: 'string', description: 'image that it is to get' },
      files: { type: 'boolean', description: 'name every file' },
    },
  },
  cli: { fixed: ['before', 'after'] },
  async run({ out, args }) {
    using from = openImage(args.before);
    using to = openImage(args.after);
    const { added, removed, changed, ...found } = differenceBetween(from.image, to.image);
    const paths = {
      added: added.map(({ path }) => path),
      removed: removed.map(({ path }) => path),
      changed: changed.map(({ path }) => path),
    };
    if (out.json)
      return out.line(
        JSON.stringify({ ok: true, same: from.hash === to.hash, from: from.hash, to: to.hash, ...paths, ...found }),
      );
    if (from.hash === to.hash) return out.line('the same image');
    await out.line(`${from.image.sku} ${from.image.version} -> ${to.image.sku} ${to.image.version}`);
    await out.line(
      `  ${added.length} files are new, ${changed.length} change, ${removed.length} go; ${megabytes(found.fresh)} are new`,
    );
    for (const [id, change] of Object.entries(found.plugins))
      await out.line(`  plugin ${id}: ${change.from ?? 'none'} -> ${change.to ?? 'none'}`);
    for (const [store, change] of Object.entries(found.state))
      await out.line(`  state ${store}: form ${change.from ?? 'none'} -> ${change.to ?? 'none'}`);
    const signs = { added: '+', changed: '~', removed: '-' } as const;
    for (const [kind, sign] of Object.entries(signs))
      if (args.files) for (const path of paths[kind as keyof typeof paths]) await out.line(`  ${sign} ${path}`);
  },
});
