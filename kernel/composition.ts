import { isDeepStrictEqual } from 'node:util';
import { API_VERSION, CoreError, reasonOf } from '@device-core/plugin-api';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { SkuChange } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { KernelParts } from './host.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { PluginEntry, Resolve, Resolved } from './resolved.ts';

/** Version of the Core; equals the root package. */
export const CORE_VERSION = '0.1.0';

/** Which set of plugins is asked for, which runs, and which last ran without a plugin that failed. */
export interface Sets {
  readonly desired: Resolved;
  readonly running: Resolved;
  readonly lastGood: Resolved | undefined;
}

/** Its SKU. Throws SKU_INVALID when the SKU has a problem that stops the Core. */
export function checkResolved({ sku, problems }: Resolved): NonNullable<Resolved['sku']> {
  const fatal = problems.find(({ stops }) => stops === 'core');
  if (sku && !fatal) return sku;
  const file = fatal ? `${fatal.file}:${fatal.line}` : '';
  throw new CoreError('SKU_INVALID', { file, reason: fatal?.message ?? 'it cannot be read', problems });
}

/** The set of plugins that the SKU asks for, and its changes while the device runs. */
export class Composition {
  sets: Sets;
  info: DeviceInfo;
  readonly #lifecycle: Lifecycle;
  readonly #parts: KernelParts;
  readonly #resolve: Resolve | undefined;
  readonly #turns = new Serial();

  constructor(
    resolved: Resolved,
    paths: DeviceInfo['paths'],
    lifecycle: Lifecycle,
    parts: KernelParts,
    resolve: Resolve | undefined,
  ) {
    this.sets = { desired: resolved, running: resolved, lastGood: undefined };
    this.info = describe(resolved, { paths, startedAt: parts.clock.steady() });
    this.#lifecycle = lifecycle;
    this.#parts = parts;
    this.#resolve = resolve;
  }

  /** The running set counts as good while none of its plugins is down. */
  async judge(): Promise<void> {
    const { running } = this.sets;
    const down = (await this.#lifecycle.list()).some(({ state }) => state !== 'active' && state !== 'stopped');
    if (!down) this.sets = { ...this.sets, lastGood: running };
  }

  /** One after the other: each reads the SKU when its turn comes. */
  apply({ check = false, installed = false } = {}): Promise<SkuChange> {
    return this.#turns.run(() => this.#apply(check, installed));
  }

  async #apply(check: boolean, installed: boolean): Promise<SkuChange> {
    if (!this.#resolve) throw new CoreError('UNAVAILABLE', { what: 'the SKU', reason: 'it is no file' });
    const [former, { running }] = [this.info, this.sets];
    const next = this.#resolve({ running, installed });
    try {
      const info = describe(next, former);
      // Grants are followed as they are; who knows the rest has to begin anew with it.
      const remade = !isDeepStrictEqual({ ...former, grants: {} }, { ...info, grants: {} });
      const also = remade ? next.plugins.filter(knowsDevice).map(({ id }) => id) : [];
      const planned = this.#lifecycle.difference(next.plugins, also);
      const change = { ...planned, stale: this.#stale(next), device: !isDeepStrictEqual(former, info) };
      if (check) return change;
      this.sets = { ...this.sets, desired: next };
      const live = this.#lifecycle.live(next.plugins, also);
      if (planned.affected.length === 0 && !change.device && live.length === 0) return change;
      await this.#lifecycle.apply(next.plugins, also, (undo) => {
        this.info = undo ? former : info;
        this.sets = { ...this.sets, running: undo ? running : next }; // who starts may ask what it runs with
      });
      await this.judge();
      this.#tell({ result: 'applied', ...change });
      return change;
    } catch (error) {
      if (check) throw error;
      this.sets = { ...this.sets, desired: next };
      const undone = error instanceof CoreError && error.code === 'CHANGE_UNDONE';
      this.#tell({ result: undone ? 'undone' : 'refused', reason: reasonOf(error) });
      throw error;
    }
  }

  /** Inline plugins with a new version in their manifest; this process keeps the code that it imported. */
  #stale({ plugins }: Resolved): readonly string[] {
    const running = new Map(this.sets.running.plugins.map((entry) => [entry.id, entry]));
    const stale = plugins.filter((entry) => {
      const old = running.get(entry.id);
      const inline = entry.isolation === 'inline' && old?.isolation === 'inline';
      return inline && old.main === entry.main && old.manifest.version !== entry.manifest.version;
    });
    return stale.map(({ id }) => id);
  }

  #tell(payload: { readonly result: 'applied' | 'refused' | 'undone'; readonly reason?: string }): void {
    const { bus, log } = this.#parts;
    log[payload.result === 'applied' ? 'info' : 'error'](payload, `the SKU was ${payload.result}`);
    try {
      bus.publish({ topic: 'plugin.changed', payload, source: 'core' });
    } catch (err) {
      log.warn({ err }, 'cannot tell a change of the SKU: the event was refused');
    }
  }
}

function knowsDevice({ manifest }: PluginEntry): boolean {
  return manifest.requires?.device !== undefined || manifest.optional?.device !== undefined;
}

function describe(resolved: Resolved, { paths, startedAt }: Pick<DeviceInfo, 'paths' | 'startedAt'>): DeviceInfo {
  const { file } = resolved;
  const { id, title, simulated = false, service = 'device', auth = 'token', grants = {} } = checkResolved(resolved);
  const core = { version: CORE_VERSION, api: API_VERSION };
  const info = { service, sku: { id, title, simulated }, core, auth, paths, startedAt, grants };
  return Object.freeze(file === undefined ? info : { ...info, skuFile: file });
}
