/** The SKU of an image: what it resolves to, as the Core of the checkout says. */
import { spawnSync } from 'node:child_process';
import { relative } from 'node:path';
import { type PluginManifest, type SkuManifest, type StateForms, stateOf } from '@device-core/plugin-api';
import { flatSkuText, readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import type { Checkout } from './checkout.ts';

export interface BuiltPlugin {
  readonly id: string;
  readonly version: string;
  /** Relative to the checkout. */
  readonly manifest: string;
  readonly folder: string;
}

export interface BuiltSku {
  readonly sku: SkuManifest;
  /** Flat, as it lies in the image. */
  readonly text: string;
  /** Plugins of the SKU and of safe mode, by id. */
  readonly plugins: readonly BuiltPlugin[];
  /** Plugin of the SKU -> version. */
  readonly lock: Readonly<Record<string, string>>;
  readonly state: Readonly<Record<string, StateForms>>;
}

/** Result of `check --json` for a SKU, as far as images need it. */
interface Resolved {
  readonly sku: SkuManifest;
  readonly plugins: readonly {
    readonly id: string;
    readonly version: string;
    readonly file: string;
    readonly main: string;
    readonly tree: boolean;
  }[];
}

const SAFE_MODE = 'manifests/skus/safe-mode.yaml';

/** Throws a Failure with all that is wrong with the SKU. */
export function skuOf(file: string, checkout: Checkout): BuiltSku {
  const { sku, plugins } = resolved(file, checkout);
  const refuse = (text: string, hint: string) =>
    new Failure(EXIT.answered, 'SKU_INVALID', `${file}: ${text}`, { hint });
  if (sku.id === 'safe-mode') throw refuse('its id is that of safe mode', 'give it another name');
  for (const { id, tree } of plugins)
    if (!tree)
      throw refuse(
        `plugin ${id} is none of the checkout's own`,
        'put it below plugins/ and its manifest below manifests/plugins/, or install it on the device',
      );
  const all = new Map(
    [...resolved(checkout.path(SAFE_MODE), checkout).plugins, ...plugins].map((one) => [one.id, one]),
  );
  const built = [...all.values()].map(({ id, version, file: manifest, main }) => ({
    id,
    version,
    manifest: relative(checkout.folder, manifest),
    folder: relative(checkout.folder, main.slice(0, main.lastIndexOf('/'))),
  }));
  const manifests = built.map(({ manifest }) => parseYaml(checkout.text(manifest)).value as PluginManifest);
  return {
    sku,
    text: flatSkuText(readSkuFamily(file)),
    plugins: built.sort((a, b) => (a.id < b.id ? -1 : 1)),
    lock: Object.fromEntries(plugins.map(({ id, version }) => [id, version] as const).sort()),
    state: stateOf(manifests),
  };
}

/** Every manifest is checked here, by the Core that is built in, in a process of its own: a plugin has no way into the kernel. */
function resolved(file: string, checkout: Checkout): Resolved {
  const words = [checkout.path('kernel/main.ts'), 'check', file, '--json'];
  const { status, stdout, stderr } = spawnSync(checkout.node, words, { encoding: 'utf8', maxBuffer: 64 << 20 });
  if (status === 0) return (JSON.parse(stdout) as { readonly resolved: Resolved }).resolved;
  throw refusalIn(stdout, file) ?? new Failure(EXIT.answered, 'SKU_INVALID', `${stdout}${stderr}`.trim());
}

/** The first problem; the rest is told by what tells them line by line. */
function refusalIn(answer: string, sku: string): Failure | undefined {
  try {
    const { problems } = JSON.parse(answer) as { problems: { file: string; line: number; message: string }[] };
    const [{ file, line, message }] = problems as [(typeof problems)[0]];
    const text = `${file}:${line}: ${message}`;
    const hint = problems.length === 1 ? undefined : `and ${problems.length - 1} more: devicectl sku check ${sku}`;
    const body = JSON.stringify({ ok: false, error: `SKU_INVALID: ${text}`, code: 'SKU_INVALID', problems });
    return new Failure(EXIT.answered, 'SKU_INVALID', text, { hint, body });
  } catch {
    return undefined; // it did not come so far
  }
}
