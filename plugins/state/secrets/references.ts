/** Which secrets the configurations of plugins name: that a reference stands in a checked section is the grant. */
import { isSecretRef } from '@device-core/plugin-api';
import type { PluginManager, PluginSettings } from '@device-core/plugin-api/inside/services/plugin-manager';

const DEEPEST = 16;
const MOST = 1_000;

/** Names that a configuration refers to, each once, in their order. */
export function referencesIn(config: unknown): readonly string[] {
  const found = new Set<string>();
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null || depth > DEEPEST || found.size >= MOST) return;
    if (isSecretRef(value)) found.add(value.secret);
    else for (const member of Object.values(value)) visit(member, depth + 1);
  };
  visit(config, 0);
  return [...found].sort();
}

type Manager = Pick<PluginManager, 'settings'>;

export class References {
  readonly #manager: Manager;
  #byPlugin: Promise<ReadonlyMap<string, ReadonlySet<string>>> | undefined;

  constructor(manager: Manager) {
    this.#manager = manager;
  }

  /** A plugin started: it may have another configuration than before. */
  forget(): void {
    this.#byPlugin = undefined;
  }

  async of(plugin: string): Promise<ReadonlySet<string>> {
    this.#byPlugin ??= this.all().then(
      (all) => new Map(all.map(({ id, names }) => [id, new Set(names)])),
      (error) => {
        this.#byPlugin = undefined;
        throw error;
      },
    );
    return (await this.#byPlugin).get(plugin) ?? new Set();
  }

  /** A plugin of this name is of the set that runs. */
  async knows(plugin: string): Promise<boolean> {
    return (await this.#manager.settings()).some(({ id }) => id === plugin);
  }

  /** References of every plugin of the set that runs and names some. */
  async all(): Promise<readonly { readonly id: string; readonly names: readonly string[] }[]> {
    const settings: readonly PluginSettings[] = await this.#manager.settings();
    return settings
      .map(({ id, inForce }) => ({ id, names: referencesIn(inForce) }))
      .filter(({ names }) => names.length > 0);
  }
}
