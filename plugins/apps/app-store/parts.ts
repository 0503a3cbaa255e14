import type { Logger, Scope } from '@device-core/plugin-api';
import type { AppSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { Consents } from '@device-core/plugin-api/inside/services/consents';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Prompts } from '@device-core/plugin-api/services/prompts';
import type { StoreConfig } from './outcome.ts';
import type { PackageStore } from './store.ts';
import type { Uploads } from './uploads.ts';

/** Parts of the device that every change of an app needs. The optional services come and go. */
export interface Parts {
  readonly store: PackageStore;
  readonly apps: Apps;
  readonly config: StoreConfig;
  readonly scope: Scope;
  readonly log: Logger;
  readonly device: () => Promise<DeviceInfo>;
  readonly publish: (topic: string, payload: object) => void;
  readonly uploads: Uploads;
  readonly optional: { prompts?: Prompts; consents?: Consents; supervisor?: AppSupervisor };
}
