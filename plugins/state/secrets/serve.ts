/** Plugin that keeps secrets, independent of the vault: the service, its operations, its health and its event. */

import { CAPABILITIES, ERROR_CODES, type PluginHost, reasonOf } from '@device-core/plugin-api';
import type { PluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { secretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Operations } from '@device-core/plugin-api/services/operations';
import { secrets } from '@device-core/plugin-api/services/secrets';
import { missingOf, secretOperations } from './operations.ts';
import { References } from './references.ts';
import { startScan } from './scan/scan.ts';
import { SecretStore } from './store.ts';
import { transferOf } from './transfer.ts';
import type { Vault } from './vault.ts';
import { SecretViews } from './view.ts';

const MOST_TOLD = 32;
const OWN_NAMES: readonly string[] = [...CAPABILITIES.map(({ id }) => id), ...Object.keys(ERROR_CODES)];

export interface Served {
  readonly operations: Operations;
  readonly manager: Pick<PluginManager, 'settings'>;
}

/** Taps of the plugin, as its manifest names them. */
export interface Serving {
  /** Tap of `health.collect`. */
  readonly health: (report: HealthReport) => Promise<void>;
  /** Tap of `log.line`. */
  readonly line: (line: string) => string;
}

/**
 * In setup() of the plugin, with its vault looked at once. The manifest has: services `secrets`, `secret-scan` and
 * `secret-transfer`, optional service `apps`, and it publishes `secrets.state`.
 */
export async function serveSecrets(host: PluginHost, { operations, manager }: Served, vault: Vault): Promise<Serving> {
  const { scope, log, bus } = host;
  const scanning = startScan();
  scanning.setNames(OWN_NAMES);
  const store = new SecretStore(vault, host, scanning.texts);
  // Before anybody gets one, or a line of the log can have one in it.
  await store.tellTexts();
  await store.owed.recall(host.id);
  const references = new References(manager);
  let present: Pick<Apps, 'manifest' | 'list'> | undefined;
  let ofPlugins: readonly string[] = [];
  let ofApps: ReadonlySet<string> = new Set();
  /** A source without an answer keeps the names that it gave before. */
  const learnNames = async (): Promise<void> => {
    const [plugins, all] = await Promise.allSettled([manager.settings(), present ? present.list() : []]);
    if (plugins.status === 'fulfilled') ofPlugins = plugins.value.map(({ id }) => id);
    if (all.status === 'fulfilled') ofApps = new Set(all.value.flatMap(({ id, name }) => [id, name]));
    scanning.setNames([...OWN_NAMES, ...ofPlugins, ...ofApps]);
  };
  store.onSet = learnNames;
  bus.subscribe('app.state', ({ payload }) => {
    if (!ofApps.has((payload as { readonly app: string }).app)) return learnNames();
  });
  host.when(apps, (service, part) => {
    present = service;
    void learnNames();
    part.defer('apps and their secrets', () => {
      present = undefined;
    });
  });
  host.provide(secretScan, scanning.scan as never);
  host.provide(secretTransfer, transferOf(store, vault) as never);
  host.provide(secrets, new SecretViews(store, references, log) as never);
  const reach = { store, references, capabilities: host.capabilities, apps: () => present };
  for (const row of secretOperations(reach)) scope.use(`operation ${row.name}`, operations.add(row));

  let told = '';
  const tell = (): void => {
    const { state } = vault;
    if (JSON.stringify(state) === told) return;
    told = JSON.stringify(state);
    if (state.state === 'open') log.info({}, 'secrets can be used');
    else log.error({ code: state.code }, `secrets cannot be used: ${state.reason}`);
    bus.publish('secrets.state', state);
  };
  store.onState = tell;
  tell();

  // Secrets that an app leaves for its next version stay as long as its data.
  bus.subscribe('app.removed', ({ payload }) => {
    const { id, purged } = payload as { readonly id: string; readonly purged?: boolean };
    if (purged !== true) return;
    return store.clear(`app.${id}`, host.id).catch((error: unknown) => {
      log.warn(
        { app: id, reason: reasonOf(error) },
        'secrets of an app that was removed stay: they are deleted when that can be done',
      );
    });
  });
  const health = async (report: HealthReport): Promise<void> => {
    await store.open().then(
      () => store.owed.pay(),
      () => undefined, // told as its state
    );
    const { state, code, reason } = vault.state;
    if (state !== 'open')
      report.add(host.id, { status: 'error', ...(code && { code }), message: `${state}: ${reason}` });
    await vault.tell(report);
    store.owed.tell(report);
    tellForgotten(report, host.id, scanning.size.forgotten);
    if (state === 'open') await tellMissing(report, { store, references });
    else await tellLocked(report, references, code ?? 'SECRETS_LOCKED');
  };
  return { health, line: scanning.line };
}

function tellForgotten(report: HealthReport, id: string, count: number): void {
  if (count === 0) return;
  const what = `${count} old texts of secrets are no longer looked for in the log: too many were set since the start`;
  report.warn('SECRETS_FORGOTTEN', `${id}: ${what}`);
}

/** Whether theirs are set is not known; that they cannot have them is. */
async function tellLocked(report: HealthReport, references: References, code: string): Promise<void> {
  for (const { id } of (await references.all()).slice(0, MOST_TOLD))
    report.add(`${id}.secrets`, { status: 'waiting', code, message: 'its secrets cannot be used: the vault is shut' });
}

async function tellMissing(report: HealthReport, reach: Parameters<typeof missingOf>[0]): Promise<void> {
  const byPlugin = Map.groupBy(await missingOf(reach), ({ plugin }) => plugin);
  for (const [plugin, missing] of [...byPlugin].slice(0, MOST_TOLD)) {
    const message = `a secret is not set: ${missing.map(({ command }) => command).join('; ')}`;
    report.add(`${plugin}.secrets`, { status: 'waiting', code: 'SECRET_NOT_FOUND', message });
  }
}
