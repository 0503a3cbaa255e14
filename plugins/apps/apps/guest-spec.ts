import { dirname } from 'node:path';
import type { AppManifest } from '@device-core/plugin-api';
import type { AppSpec, GuestLimits } from '@device-core/plugin-api/app-spec';
import { type AppRun, appSandbox } from './app-sandbox.ts';

const STOP_MS = 3_000;
/** Of what a manifest says nothing. */
const LIMITS: GuestLimits = {
  ...{ memoryMaxMB: 128, cpuPercent: 50, tasksMax: 64 },
  ...{ storageMB: 64, cacheMB: 64, openFiles: 1_024, logKBps: 64 },
};

export interface GuestSpecOptions extends AppRun {
  readonly service: string;
}

/** One run of an app, for whoever supervises it. */
export function guestSpec({ service, ...run }: GuestSpecOptions): AppSpec {
  const { manifest, folder, place, sockets } = run;
  const { folder: shared } = sockets.shared;
  return {
    ...appSandbox(run),
    ...{ form: 1, kind: 'app', service, id: manifest.id, title: manifest.title, version: manifest.version },
    ...{ code: folder, data: place.data, run: dirname(place.credentials) },
    ...(shared === undefined ? {} : { shared }),
    ...{ hosts: [], listen: false, devices: [] },
    limits: limitsOf(manifest),
    stopTimeoutMs: manifest.lifecycle?.stopTimeoutMs ?? STOP_MS,
    runtime: 'native',
  };
}

function limitsOf({ resources = {} }: AppManifest): GuestLimits {
  return { ...LIMITS, ...resources };
}
