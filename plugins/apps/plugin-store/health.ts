import { join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import { versionFolder } from '@device-core/plugin-api/inside/installed';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { StoreConfig } from './outcome.ts';
import { inItsPlace } from './runs.ts';
import type { InstalledState } from './state.ts';
import type { PluginStore } from './store.ts';
import { signerOf } from './trust.ts';

interface HealthSources {
  readonly store: PluginStore;
  readonly state: InstalledState;
  readonly config: StoreConfig;
  readonly place: string;
  /** Failures of the start. */
  readonly faults: readonly string[];
}

export async function reportHealth(report: HealthReport, sources: HealthSources): Promise<void> {
  const { store, state, config, place, faults } = sources;
  const { plugins, rolledBack, disabled } = store.installed;
  state.report(report, Object.keys(plugins).length, faults[0]);
  for (const [id, { version, reason }] of Object.entries(rolledBack)) {
    const outcome = inItsPlace(plugins[id], await store.runs.running(id));
    report.warn('PLUGIN_ROLLED_BACK', `plugin ${id} ${version} failed its probation: ${reason}; ${outcome}`);
  }
  if (disabled.length > 0)
    report.warn('PLUGINS_DISABLED', `plugins of the SKU are switched off: ${disabled.join(', ')}`);
  if (config.unsignedIsolation !== 'process')
    report.warn(
      'UNSIGNED_TRUSTED',
      `plugins that no trusted key signed may run at level ${config.unsignedIsolation}, where they can do everything that the Core can`,
    );
  else if (config.powerfulUnsigned === 'allow')
    report.warn('UNSIGNED_TRUSTED', 'plugins that no trusted key signed may have powerful services and hooks');
  if (config.signatures !== 'warn' || config.trustedKeys.length === 0) return;
  for (const [id, plugin] of Object.entries(plugins)) {
    const folder = join(place, id, versionFolder(plugin));
    await signerOf(id, folder, plugin.hash, { ...config, signatures: 'require' }).catch((thrown) =>
      report.warn('SIGNATURE_INVALID', `${reasonOf(thrown)} (version ${plugin.version})`),
    );
  }
}
