/** The resolved SKU, as the Core of this checkout reports it: a plugin has no way into the kernel. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type { Isolation, PluginBudget, SkuManifest } from '@device-core/plugin-api';
import type { SkuSpot } from '@device-core/plugin-api/inside/sku-family';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';

export const CHECKOUT = resolve(import.meta.dirname, '../../../..');
export const CORE = resolve(CHECKOUT, 'kernel/main.ts');

export interface SetAt extends SkuSpot {
  readonly path: YamlPath;
}

export interface ResolvedPlugin {
  readonly id: string;
  readonly version: string;
  readonly summary: string;
  /** Its manifest; absent where there is none. */
  readonly file?: string;
  readonly main: string;
  readonly tree: boolean;
  readonly isolation: Isolation;
  readonly share?: string;
  readonly essential: boolean;
  readonly enabled: boolean;
  readonly provides: Readonly<Record<string, string>>;
  readonly requires: Readonly<Record<string, string>>;
  readonly optional: Readonly<Record<string, string>>;
  readonly capabilities: readonly string[];
  readonly budget: PluginBudget;
  readonly config: Readonly<Record<string, unknown>>;
  /** The line that lists it. */
  readonly at: SkuSpot;
  /** The lines of what the SKU sets of it, by path in its line. */
  readonly set: readonly SetAt[];
}

export interface ResolvedSku {
  readonly file: string;
  readonly files: readonly string[];
  readonly checkout: string;
  readonly core: string;
  readonly api: string;
  readonly node: string;
  /** Services of the kernel itself. */
  readonly services: Readonly<Record<string, string>>;
  readonly sku: SkuManifest;
  readonly set: readonly SetAt[];
  readonly removed: readonly ({ readonly id: string } & SkuSpot)[];
  readonly plugins: readonly ResolvedPlugin[];
}

export interface SkuProblem extends SkuSpot {
  readonly code: string;
  readonly message: string;
}

export interface Checked {
  readonly problems: readonly SkuProblem[];
  /** Absent where the file cannot be read as a SKU. */
  readonly resolved?: ResolvedSku;
}

/** The file and everything that is wrong with it. Throws a Failure where there is no such file, or nothing to say of it. */
export function checkedSku(file: string): Checked {
  if (!existsSync(file)) throw usage(`there is no file ${file}`);
  const words = ['--disable-warning=ExperimentalWarning', CORE, 'check', file, '--json'];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', maxBuffer: 1 << 26 });
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Failure(EXIT.answered, 'SKU_INVALID', `${file} cannot be checked: ${`${stdout}${stderr}`.trim()}`);
  }
}

/** The resolved SKU with its other problems. Throws a Failure where it cannot be read as a SKU. */
export function readableSku(file: string): Checked & { readonly resolved: ResolvedSku } {
  const { problems, resolved } = checkedSku(file);
  if (!resolved) throw refusal(problems);
  return { problems, resolved };
}

/** The resolved SKU. Throws a Failure with all its problems. */
export function fineSku(file: string): ResolvedSku {
  const { problems, resolved } = readableSku(file);
  if (problems.length > 0) throw refusal(problems);
  return resolved;
}

function refusal(problems: readonly SkuProblem[]): Failure {
  const lines = problems.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  const body = JSON.stringify({ ok: false, error: `SKU_INVALID: ${lines[0]}`, code: 'SKU_INVALID', problems });
  return new Failure(EXIT.answered, 'SKU_INVALID', lines.join('; '), { body });
}

/** A place for people: relative to where they stand, unless that is further away. */
export function placeOf({ file, line }: SkuSpot): string {
  return `${shownFile(file)}:${line}`;
}

export function shownFile(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

/** Providers of each service: plugin ids that are enabled, or `the kernel`. */
export function providersOf({ plugins, services }: ResolvedSku): ReadonlyMap<string, readonly Provider[]> {
  const found = new Map<string, Provider[]>();
  for (const [service, version] of Object.entries(services)) found.set(service, [{ id: KERNEL, version }]);
  for (const { id, provides, enabled } of plugins)
    for (const [service, version] of Object.entries(enabled ? provides : {}))
      found.set(service, [...(found.get(service) ?? []), { id, version }]);
  return found;
}

export const KERNEL = 'the kernel';

export interface Provider {
  readonly id: string;
  readonly version: string;
}
