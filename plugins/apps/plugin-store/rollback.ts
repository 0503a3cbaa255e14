/** Going back to the version before, as a change. */

import type { InstalledPlugin } from '@device-core/plugin-api/inside/installed';
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/services/changes';
import type { PluginStore } from './store.ts';

export interface RollbackData extends ChangeData {
  readonly id: string;
  readonly from: InstalledPlugin;
  readonly to: InstalledPlugin;
}

const STEPS = [
  { name: 'commit', summary: 'writing it into the list' },
  { name: 'start', summary: 'starting' },
] as const;

export class Rollback implements ChangeMaker {
  readonly kind = 'plugins.rollback';
  readonly capability = 'system.plugins';
  readonly steps = STEPS;
  readonly commit = 'commit';
  readonly #store: PluginStore;
  readonly #view: (id: string, plugin: InstalledPlugin) => Promise<object>;

  constructor(store: PluginStore, view: (id: string, plugin: InstalledPlugin) => Promise<object>) {
    this.#store = store;
    this.#view = view;
  }

  readonly perform = async (step: string, data: ChangeData): Promise<ChangeData> => {
    const { id, from, to } = data as RollbackData;
    if (step === 'commit') {
      await this.#store.exchange(id, from, to);
      return {};
    }
    await this.#store.follow();
    return { result: { plugin: await this.#view(id, to) } };
  };

  readonly undo = async (step: string, data: ChangeData): Promise<void> => {
    const { id, from, to } = data as RollbackData;
    if (step !== 'commit') return;
    await this.#store.exchange(id, to, from);
    await this.#store.follow();
  };
}
