import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PluginManager, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type SignedIn, sessions } from '@device-core/plugin-api/inside/services/sessions';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { operations } from '@device-core/plugin-api/services/operations';
import {
  createTestHost,
  given,
  type TestHost,
  type TestHostOptions,
  TestOperations,
} from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/state/config/index.ts';
import { eventually } from '../../fixtures/eventually.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/state/config.yaml');

export interface Started extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  /** Outlives the host, so that a second start finds what the first left. */
  readonly root: string;
  readonly etc: string;
  readonly var: string;
  health(): Promise<{ components: Record<string, { status: string; message?: string }>; warnings: string[] }>;
}

/** Starts the plugin on a root that is given, or on a fresh one that goes at the end. */
export async function start(
  options: {
    readonly root?: string;
    readonly files?: string;
    readonly watch?: boolean;
    readonly manager?: Partial<PluginManager>;
    readonly browsers?: readonly Pick<SignedIn, 'id' | 'name'>[];
  } & Pick<TestHostOptions, 'grants' | 'config'> = {},
): Promise<Started> {
  const root = options.root ?? (await mkdtemp(join(tmpdir(), 'dc-config-')));
  if (options.files) await cp(options.files, root, { recursive: true });
  await mkdir(join(root, 'etc'), { recursive: true });
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  const table = new TestOperations();
  const info = { paths, startedAt: Date.now() } as DeviceInfo;
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { watch: options.watch ?? false, ...options.config },
    services: [
      [operations, table],
      [device, { info: async () => info }],
      ...(options.manager ? [given(pluginManager, options.manager)] : []),
      ...(options.browsers ? [given(sessions, { list: async () => options.browsers as readonly SignedIn[] })] : []),
    ],
    ...(options.grants && { grants: options.grants }),
  });
  return {
    host,
    table,
    root,
    etc: paths.etc,
    var: paths.var,
    async health() {
      const components: Record<string, { status: string; message?: string }> = {};
      const warnings: string[] = [];
      const report: HealthReport = {
        add: (name, health) => {
          components[name] = health;
        },
        bridge: () => undefined,
        warn: (_, message) => void warnings.push(message),
      };
      await host.hook('health.collect').promise(report);
      return { components, warnings };
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      if (host.leaks().length > 0) throw new Error(`leaks: ${host.leaks().join(', ')}`);
      // A change that restarts plugins is not waited for at the end of one: its last file may come meanwhile.
      if (!options.root) await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export const until = (probe: () => boolean | Promise<boolean>) => eventually(probe, 'what was waited for');
