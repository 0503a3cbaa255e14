import { join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import { isStorageTrouble } from '@device-core/plugin-api/durable';
import { versionFolder } from '@device-core/plugin-api/inside/installed';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { StoreConfig } from './outcome.ts';
import type { InstalledState } from './state.ts';
import { inItsPlace, type PluginStore } from './store.ts';
import { signerOf } from './trust.ts';

interface HealthSources {
  readonly store: PluginStore;
  readonly state: InstalledState;
  readonly config: StoreConfig;
  readonly place: string;
  /** What could not be done at the start. */
  readonly faults: readonly string[];
}

export async function reportHealth(report: HealthReport, sources: HealthSources): Promise<void> {
  const { store, state, config, place, faults } = sources;
  const { plugins, rolledBack, disabled } = store.installed;
  const count = Object.keys(plugins).length;
  const [fault] = faults;
  // A full or read-only disk is told by the system, as long as it is one.
  const { trouble } = state;
  if (fault) report.add('plugin-store', { status: 'error', code: 'STATE_UNWRITABLE', message: fault });
  else if (trouble && !isStorageTrouble(trouble))
    report.add('plugin-store', { status: 'error', code: trouble.code, message: trouble.message });
  else report.add('plugin-store', { status: 'okay', message: `${count} plugins installed on this device` });
  if (state.newer) report.warn('STATE_NEWER', `${state.problem?.message}; what was installed does not run`);
  else if (state.problem)
    report.warn(
      'STATE_CORRUPT',
      `${state.problem.message}; ${count > 0 ? 'its last good copy is used' : 'nothing that was installed is known any more'}`,
    );
  for (const [id, { version, reason }] of Object.entries(rolledBack)) {
    const outcome = inItsPlace(plugins[id], await store.running(id));
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
