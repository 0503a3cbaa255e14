import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import { type AppSupervisor, appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { type AppLaunch, identity } from '@device-core/plugin-api/inside/services/identity';
import { launcher, type WallMaker } from '@device-core/plugin-api/inside/services/launcher';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { createTestHost, given, type TestHost } from '@device-core/plugin-api/testing';
import { WallLauncher } from '../../../kernel/walls/launcher.ts';
import { plugin } from '../../../plugins/apps/supervisor-process/index.ts';
import type { SupervisorUnderTest } from '../../contracts/app-supervisor.ts';
import { shellSpec } from '../../fixtures/guest-spec.ts';

const MANIFEST = new URL('../../../manifests/plugins/apps/supervisor-process.yaml', import.meta.url).pathname;

export interface Bench extends SupervisorUnderTest {
  readonly host: TestHost;
  readonly root: string;
  readonly launched: readonly AppLaunch[];
}

/** The plugin alone, with walls no better than these. */
export async function openSupervisor(best: WallMaker, more: Partial<AppSpec> = {}): Promise<Bench> {
  const root = mkdtempSync(join(tmpdir(), 'sup-'));
  const paths: DeviceInfo['paths'] = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  const launched: AppLaunch[] = [];
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    services: [
      given(device, { info: async () => ({ paths }) as DeviceInfo }),
      given(identity, { launched: async (launch) => void launched.push(launch) }),
      [launcher, new WallLauncher(best)],
    ],
  });
  return {
    host,
    root,
    launched,
    supervisor: host.service(appSupervisor) as AppSupervisor,
    spec: (name, script) => shellSpec(root, name, script, more),
    impossible: { mac: 'kernel' },
    async [Symbol.asyncDispose]() {
      await host.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
