import { closeSync } from 'node:fs';
import { definePlugin, type PluginHost } from '@device-core/plugin-api';
import { type DescriptorStore, descriptorStore } from '@device-core/plugin-api/inside/descriptor-store';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { Notify } from './notify.ts';

export interface Surroundings {
  /**
   * Variables that systemd sets for a service: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID. READY_FD: set by a boot
   * loader that runs the Core without systemd.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly connect: (path: string) => Promise<Notify>;
  readonly store: DescriptorStore;
}

/** First look after this time: a plugin that starts after the device became ready gets no event. */
const READY_LOOK_MS = 3_000;
/** Handles that no plugin has configured so long after the start are not in the SKU any more. */
const RELEASE_MS = 60_000;
/** Signals that begin an orderly end. */
const ENDING = ['SIGTERM', 'SIGINT'] as const;

export function makeSystemd({ env, connect, store }: Surroundings) {
  return definePlugin({
    requires: { pluginManager },
    async setup(host: PluginHost, services) {
      const { NOTIFY_SOCKET: socket, READY_FD: descriptor } = env;
      if (!socket && !descriptor) return;
      const connected = socket ? connect(socket) : (await import('./ready-descriptor.ts')).descriptorOf(descriptor!);
      const notify = host.scope.use('service manager', await connected);
      const manager = services.pluginManager;
      let ready = false;
      let ending = false;

      const tell = (message: string, held?: number): boolean => {
        const failure = notify.tell(message, held);
        if (failure !== undefined)
          host.log.warn({ failure }, `the service manager was not told ${message.split('=')[0]}`);
        return failure === undefined;
      };
      const status = async () => {
        const all = await manager.list();
        const active = all.filter(({ state }) => state === 'active').length;
        return { line: `STATUS=${active} of ${all.length} plugins active`, all };
      };
      // A boot loader at a pipe holds none.
      if (socket) host.scope.use('descriptors', store.attach(tell));
      const release = () => {
        for (const [name, held] of store.release()) {
          closeSync(held);
          host.log.info({ name }, 'no plugin has taken a descriptor that a former process left: it is given up');
        }
      };
      const begin = async () => {
        if (ready || ending) return;
        ready = true;
        const { line } = await status();
        if (tell(`READY=1\n${line}`)) {
          if (store.waits) host.scope.timeout('release of descriptors', RELEASE_MS, release);
          return;
        }
        // Without a readiness message systemd would end the Core.
        ready = false;
        host.scope.timeout('ready once more', READY_LOOK_MS, begin);
      };
      const look = async () => {
        const { all } = await status();
        if (all.some(({ state }) => state === 'starting')) host.scope.timeout('is it ready', READY_LOOK_MS, look);
        else await begin();
      };
      host.tap('kernel.ready', begin);
      host.scope.timeout('is it ready', READY_LOOK_MS, look);
      host.bus.subscribe('plugin.changed', async () => void (ready && !ending && tell((await status()).line)));

      const end = () => {
        ending = true;
        store.end();
        tell('STOPPING=1');
      };
      for (const signal of ENDING) {
        process.once(signal, end);
        host.scope.defer(signal, () => void process.off(signal, end));
      }
      const { Watchdog } = await import('./watchdog.ts');
      const watchdog = Watchdog.of(env);
      if (watchdog) watchdog.keep(host, tell, () => ending);
    },
  });
}

export const plugin = makeSystemd({
  env: process.env,
  connect: async (path) => (await import('./notify.ts')).connectNotify(path),
  store: descriptorStore,
});
