/** Switching an app off or on as a change, for good: also one of the image. Nothing of it is removed. */
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/services/changes';
import { ignoreMissing } from './installation.ts';
import type { Parts } from './parts.ts';

export interface SwitchData extends ChangeData {
  readonly app: string;
  readonly enabled: boolean;
  readonly was: boolean;
}

const STEPS = [
  { name: 'commit', summary: 'writing it into the list' },
  { name: 'follow', summary: 'starting or stopping it' },
] as const;

export class Switching implements ChangeMaker {
  readonly kind = 'apps.switch';
  readonly capability = 'system.apps';
  readonly steps = STEPS;
  readonly commit = 'commit';
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  readonly perform = async (step: string, data: ChangeData): Promise<ChangeData> => {
    const { app, enabled } = data as SwitchData;
    const { apps } = this.#parts;
    if (step === 'commit') {
      await this.#write(app, enabled);
      return {};
    }
    await apps.refresh();
    const status = enabled ? await apps.start(app) : await apps.stop(app);
    return { result: { id: app, enabled, state: status.state } };
  };

  readonly undo = async (step: string, data: ChangeData): Promise<void> => {
    const { app, was } = data as SwitchData;
    if (step !== 'commit') return;
    await this.#write(app, was);
    await this.#parts.apps.refresh();
    await (was ? this.#parts.apps.start(app) : this.#parts.apps.stop(app)).catch(ignoreMissing);
  };

  async #write(app: string, enabled: boolean): Promise<void> {
    await this.#parts.store.change(({ disabled }) => {
      const others = disabled.filter((one) => one !== app);
      return { disabled: enabled ? others : [...others, app] };
    });
  }
}
