/** Switching an app off or on as a change, for good: also one of the image. Nothing of it is removed. */
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/inside/services/changes';
import { ignoreMissing } from './installation.ts';
import type { Parts } from './parts.ts';

export interface SwitchData extends ChangeData {
  readonly app: string;
  readonly enabled: boolean;
  readonly was: boolean;
}

export const switchMaker = ({ store, apps }: Parts): ChangeMaker => {
  const write = (app: string, enabled: boolean) =>
    store.change(({ disabled }) => {
      const others = disabled.filter((one) => one !== app);
      return { disabled: enabled ? others : [...others, app] };
    });
  return {
    kind: 'apps.switch',
    capability: 'system.apps',
    steps: [
      { name: 'commit', summary: 'writing it into the list' },
      { name: 'follow', summary: 'starting or stopping it' },
    ],
    commit: 'commit',

    async perform(step, data) {
      const { app, enabled } = data as SwitchData;
      if (step === 'commit') {
        await write(app, enabled);
        return {};
      }
      await apps.refresh();
      const status = enabled ? await apps.start(app) : await apps.stop(app);
      return { result: { id: app, enabled, state: status.state } };
    },

    async undo(step, data) {
      const { app, was } = data as SwitchData;
      if (step !== 'commit') return;
      await write(app, was);
      await apps.refresh();
      await (was ? apps.start(app) : apps.stop(app)).catch(ignoreMissing);
    },
  };
};
