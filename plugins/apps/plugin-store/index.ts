import { join } from 'node:path';
import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { isStorageTrouble } from '@device-core/plugin-api/durable';
import { installedFile } from '@device-core/plugin-api/inside/installed';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type PluginUnits, pluginUnits } from '@device-core/plugin-api/inside/services/plugin-units';
import { device } from '@device-core/plugin-api/services/device';
import { ListFile } from '../shared/package-store/list-file.ts';
import { offer } from '../shared/package-store/offer.ts';
import { reportHealth } from './health.ts';
import type { StoreConfig } from './outcome.ts';
import { Probation } from './probation.ts';
import { PLUGIN_LIST } from './state.ts';
import { PluginStore } from './store.ts';
import type { UseHistory } from './use-history.ts';

const requires = { device, pluginManager, grants };

/**
 * Every other plugin waits for this one, so nothing here fails the start: what is wrong is told in the health. The rest of its code is
 * imported when it is asked for.
 */
export const plugin = definePlugin<typeof requires, StoreConfig>({
  requires,
  async setup(host, services) {
    const { config, log, scope } = host;
    const manager = services.pluginManager;
    const { paths, sku } = await services.device.info();
    const place = join(paths.var, 'plugins');
    const state = new ListFile(installedFile(paths.var), PLUGIN_LIST);
    const store = new PluginStore({
      state,
      place,
      manager,
      config,
      log,
      signal: scope.signal,
      clock: host.clock,
      safeMode: sku.id === 'safe-mode',
    });
    const faults: string[] = [];
    const attempt = async (what: string, work: Promise<void>) => {
      await work.catch((thrown) => {
        // That a disk is full passes; it is told as long as it lasts.
        if (!isStorageTrouble(thrown)) faults.push(`cannot ${what}: ${reasonOf(thrown)}`);
        log.error({ err: thrown }, `cannot ${what}`);
      });
    };
    await attempt('take up the installed plugins', store.begin());
    scope.defer('starts on probation', () => attempt('end the probation in order', store.end()));
    host.tap('plugin.verify', (manifest, directory) => store.verify(manifest, directory));
    const probation = new Probation(store, manager, scope, log, config.probationMs);
    host.bus.subscribe('plugin.state', probation.changed);
    let history: UseHistory | undefined;
    let units: PluginUnits | undefined;
    host.when(pluginUnits, (found, part) => {
      units = found;
      part.defer('units of plugins', () => {
        units = undefined;
      });
    });
    host.tap('health.collect', async (report) => {
      await reportHealth(report, { store, state, config, place, faults });
      history?.tell(report);
    });
    offer(host, async (changing) => {
      const { storeOperations } = await import('./operations.ts');
      const { auditOperation } = await import('./audit.ts');
      const { UseHistory } = await import('./use-history.ts');
      history = await UseHistory.open(join(paths.var, host.id), manager, scope, log);
      const { operations, makers } = storeOperations(store, probation, place, changing);
      const unitsNow = async () => (await units?.list()) ?? {};
      const audit = auditOperation({
        history,
        installed: () => store.installed,
        grants: services.grants,
        units: unitsNow,
      });
      return { operations: [...operations, audit], makers };
    });
  },
});
