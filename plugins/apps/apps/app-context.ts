import type { CrashLimits, Logger, Scope } from '@device-core/plugin-api';
import type { SkuOfApps } from '@device-core/plugin-api/inside/app-spec';
import type { AppSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import type { AppSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { Egress } from '@device-core/plugin-api/inside/services/egress';
import type { Grants } from '@device-core/plugin-api/inside/services/grants';
import type { HttpServer } from '@device-core/plugin-api/inside/services/http-server';
import type { Identity } from '@device-core/plugin-api/inside/services/identity';
import type { Config } from '@device-core/plugin-api/services/config';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Functions } from '@device-core/plugin-api/services/functions';
import type { AppConsents } from './app-consents.ts';
import type { Demand } from './doctor.ts';
import type { PingLimits } from './liveness.ts';
import type { StoredAppList } from './stored-apps.ts';

/** The plugin's configuration section. */
export interface AppsConfig extends SkuOfApps {
  readonly folders: readonly string[];
  readonly path: string;
  readonly lang: string;
  readonly watch: boolean;
  readonly parallelStarts: number;
  readonly logRate: number;
  readonly crash: CrashLimits;
  readonly ping: PingLimits;
  /** Policy for an app that keeps more files than its budget allows. */
  readonly fullStorage: 'stop' | 'warn';
  readonly demand: Demand;
  /** Apps start where no walls can be made, too. */
  readonly insecure: boolean;
  /** Role that may try unsigned apps. */
  readonly developer: 'off' | 'operator';
}

/** Context that every app needs of the device. The optional services come and go. */
export interface AppContext {
  /** As the SKU says now. */
  device: DeviceInfo;
  readonly identity: Identity;
  readonly grants: Grants;
  readonly appSockets: AppSockets;
  readonly appSupervisor: AppSupervisor;
  readonly scope: Scope;
  readonly log: Logger;
  readonly config: AppsConfig;
  readonly stored: StoredAppList;
  readonly consents: AppConsents;
  optional: { config?: Config; egress?: Egress; functions?: Functions; http?: HttpServer };
}
