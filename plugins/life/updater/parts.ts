/** Parts that the modules of the updater share. */

import type { Clock, CoreError, HookCaller, Logger, Scope } from '@device-core/plugin-api';
import type { Changes } from '@device-core/plugin-api/inside/services/changes';
import type { Machine } from '@device-core/plugin-api/inside/services/machine';
import type { PluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { Slots } from '@device-core/plugin-api/inside/services/slots';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Operations } from '@device-core/plugin-api/services/operations';
import type { Prompts } from '@device-core/plugin-api/services/prompts';
import type { UpdaterConfig } from './configuration.ts';
import type { History } from './history.ts';
import type { Journal } from './journal.ts';
import type { Leases } from './leases.ts';
import type { PackageSource } from './repository.ts';
import type { Senses } from './senses.ts';

export interface Parts {
  readonly config: UpdaterConfig;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly log: Logger;
  /** `<state>/update`: list, signatures and blobs of the wanted image lie in it as in an image folder. */
  readonly folder: string;
  readonly device: DeviceInfo;
  readonly journal: Journal;
  readonly history: History;
  readonly leases: Leases;
  readonly senses: Senses;
  readonly manager: PluginManager;
  /** As far as they are there. */
  readonly services: {
    slots?: Slots | undefined;
    machine?: Machine | undefined;
    operations?: Operations | undefined;
    apps?: Apps | undefined;
    prompts?: Prompts | undefined;
    changes?: Changes | undefined;
  };
  /** Fault of the repository at the last look: an alarm. */
  readonly trust: { alarm?: CoreError | undefined };
  readonly judge: HookCaller<'update.judge'>;
  /** The repository that the configuration names; undefined where it names none. */
  readonly repository: () => Promise<PackageSource | undefined>;
}
