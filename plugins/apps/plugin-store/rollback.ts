/** Going back to the version before, as a change. */

import type { InstalledPlugin } from '@device-core/plugin-api/inside/installed';
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/inside/services/changes';
import type { PluginStore } from './store.ts';

export interface RollbackData extends ChangeData {
  readonly id: string;
  readonly from: InstalledPlugin;
  readonly to: InstalledPlugin;
}

export const rollbackMaker = (
  store: PluginStore,
  view: (id: string, plugin: InstalledPlugin) => Promise<object>,
): ChangeMaker => ({
  kind: 'plugins.rollback',
  capability: 'system.plugins',
  steps: [
    { name: 'commit', summary: 'writing it into the list' },
    { name: 'start', summary: 'starting' },
  ],
  commit: 'commit',

  async perform(step, data) {
    const { id, from, to } = data as RollbackData;
    if (step === 'commit') {
      await store.exchange(id, from, to);
      return {};
    }
    await store.follow();
    return { result: { plugin: await view(id, to) } };
  },

  async undo(step, data) {
    const { id, from, to } = data as RollbackData;
    if (step !== 'commit') return;
    await store.exchange(id, to, from);
    await store.follow();
  },
});
