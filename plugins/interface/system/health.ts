/** system.health: what the plugins say of themselves, and what the kernel says of the plugins (decisions D5). */

import {
  CoreError,
  type HookCaller,
  type LoopUsage,
  type PluginState,
  reasonOf,
  type Scope,
  settlesWithin,
} from '@device-core/plugin-api';
import type { PluginManager, PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type {
  BridgeHealth,
  ComponentHealth,
  ComponentStatus,
  HealthReport,
} from '@device-core/plugin-api/services/health';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { type StorageHealth, storageHealth } from './storage.ts';
import { LOOP, WARNING } from './usage-operations.ts';

const STATUS_OF = {
  active: 'okay',
  waiting: 'waiting',
  starting: 'waiting',
  stopping: 'waiting',
  stopped: 'blocked',
  failed: 'error',
  quarantined: 'error',
} as const satisfies Record<PluginState, ComponentStatus>;

type Overall = 'ok' | 'degraded' | 'failed';

export interface Health {
  readonly ok: boolean;
  readonly status: Overall;
  readonly components: Readonly<Record<string, ComponentHealth>>;
  readonly bridge: BridgeHealth;
  readonly eventLoop?: LoopUsage;
  readonly uptimeMs: number;
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

export interface HealthSources {
  readonly collect: HookCaller<'health.collect'>;
  readonly plugins: PluginManager;
  readonly device: DeviceInfo;
  readonly scope: Scope;
  readonly timeoutMs: number;
}

const COMPONENT: JsonSchema = {
  type: 'object',
  required: ['status'],
  properties: {
    status: { enum: ['okay', 'waiting', 'blocked', 'error'] },
    code: { type: 'string' },
    message: { type: 'string' },
    version: { type: 'string' },
    since: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    warning: { ...WARNING, description: 'a budget of the event loop that it exceeded within the last minute' },
  },
};

/** A collection answers requests within so many milliseconds of its beginning: a look at a device takes longer. */
const SHARED_MS = 20;

/** Two views of one collection: for callers with an identity, and for those without. */
interface Told {
  readonly all: Health;
  readonly statuses: Health;
}

export function healthOperation(sources: HealthSources): Operation<never, Health> & { forget(): void } {
  let last: { readonly at: number; readonly told: Promise<Told>; over: boolean } | undefined;
  /** Callers that ask at the same time share one collection, so that nobody can multiply the probes. */
  const shared = (): Promise<Told> => {
    const now = sources.scope.clock.monotonic();
    if (last && (!last.over || now - last.at < SHARED_MS)) return last.told;
    const told = collect(sources).then((health) => ({
      // Frozen: a front end makes one text of it for all.
      all: Object.freeze(health),
      statuses: Object.freeze(statusesOf(health)),
    }));
    const collection = { at: now, told, over: false };
    last = collection;
    const end = (): void => {
      collection.over = true;
    };
    told.then(end, () => {
      if (last === collection) last = undefined;
    });
    return told;
  };
  return {
    name: 'system.health',
    summary: 'health of the device, its plugins and the bridge link',
    description: 'A caller without identity gets the statuses without messages.',
    anonymous: true,
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['ok', 'status', 'components', 'bridge', 'uptimeMs'],
      properties: {
        ok: { type: 'boolean', description: 'false when the status is failed' },
        status: { enum: ['ok', 'degraded', 'failed'] },
        components: { type: 'object', additionalProperties: COMPONENT },
        bridge: {
          type: 'object',
          required: ['link'],
          properties: { link: { enum: ['up', 'down', 'resetting'] } },
        },
        eventLoop: LOOP,
        uptimeMs: { type: 'integer', minimum: 0 },
        warnings: {
          type: 'array',
          items: {
            type: 'object',
            required: ['code', 'message'],
            properties: { code: { type: 'string' }, message: { type: 'string' } },
          },
        },
      },
    },
    rest: { method: 'GET', path: '/health', bare: true, statusBy: { member: 'status', map: { failed: 503 } } },
    errors: [],
    run: async (_params, call) => {
      const { all, statuses } = await shared();
      return call.caller.kind === 'anonymous' ? statuses : all;
    },
    /** Something has changed: what was found before is not told any more. */
    forget(): void {
      if (last?.over) last = undefined;
    },
  };
}

async function collect({ collect, plugins, device, scope, timeoutMs }: HealthSources): Promise<Health> {
  const added = new Map<string, ComponentHealth>();
  const warnings: { code: string; message: string }[] = [];
  let bridge: BridgeHealth = { link: 'down' };
  let open = true; // what a tap adds after the limit must not change an answer that is on its way
  const report: HealthReport = {
    add: (component, health) => void (open && added.set(component, health)),
    bridge: (health) => {
      if (open) bridge = health;
    },
    warn: (code, message) => void (open && warnings.push({ code, message })),
  };
  const problem = await limited(collect, report, timeoutMs, scope);
  open = false;
  if (problem) added.set('system.probes', problem);
  const disk = await within(scope, timeoutMs, storageHealth(device.paths));
  if (disk?.component) added.set('system.storage', disk.component);
  if (disk?.warning) warnings.push(disk.warning);

  const [list, eventLoop] = await Promise.all([plugins.list(), plugins.eventLoop()]);
  const components: Record<string, ComponentHealth> = {};
  for (const plugin of list) components[plugin.id] = componentOf(plugin, added.get(plugin.id));
  for (const [name, health] of added) components[name] ??= health;
  for (const { id, usage } of list)
    if (usage?.warning) warnings.push({ code: usage.warning.code, message: `plugin ${id}: ${usage.warning.message}` });
  const status = overall(list, components);
  const uptimeMs = Math.max(0, scope.clock.steady() - device.startedAt);
  return {
    ok: status !== 'failed',
    status,
    components,
    bridge,
    eventLoop,
    uptimeMs,
    ...(warnings.length > 0 ? { warnings } : {}),
  };
}

/** A disk that does not even answer is told as one that is slow. */
async function within(scope: Scope, ms: number, asked: Promise<StorageHealth>): Promise<StorageHealth> {
  if (await settlesWithin(scope.clock, ms, asked)) return asked;
  return { warning: { code: 'STORAGE_SLOW', message: `the disk is slow: it did not answer within ${ms} ms` } };
}

/** A probe that fails or hangs costs its own news only; it is reported as a component of its own. */
async function limited(
  collect: HealthSources['collect'],
  report: HealthReport,
  ms: number,
  scope: Scope,
): Promise<ComponentHealth | undefined> {
  const probes = collect.promise(report);
  const failed = (thrown: unknown): ComponentHealth => ({
    status: 'error',
    code: thrown instanceof CoreError ? thrown.code : 'INTERNAL',
    message: reasonOf(thrown),
  });
  const answered = probes.then(() => undefined, failed);
  if (await settlesWithin(scope.clock, ms, answered)) return answered;
  const message = `the probe of ${(await collect.unanswered()).join(', ')} did not answer within ${ms} ms`;
  return { status: 'error', code: 'TIMEOUT', message };
}

function componentOf(plugin: PluginStatus, said: ComponentHealth | undefined): ComponentHealth {
  const { version, since, usage } = plugin;
  const warned = usage?.warning ? { warning: usage.warning } : {};
  // Reports of a plugin count only while it runs.
  if (plugin.state === 'active') return { status: 'okay', since, ...said, ...warned, version };
  return {
    status: STATUS_OF[plugin.state],
    ...(plugin.code ? { code: plugin.code } : {}),
    message: plugin.reason ?? plugin.state,
    since,
    version,
  };
}

/** A plugin that was switched off on purpose does not make a device degraded, unless it is essential. */
function overall(plugins: readonly PluginStatus[], components: Readonly<Record<string, ComponentHealth>>): Overall {
  if (plugins.some((plugin) => plugin.essential && plugin.state !== 'active')) return 'failed';
  const off = new Set(plugins.filter(({ state }) => state === 'stopped').map(({ id }) => id));
  const inactive = plugins.some((plugin) => plugin.state !== 'active' && plugin.state !== 'stopped');
  const troubled = Object.entries(components).some(
    ([name, { status }]) => (status === 'error' || status === 'blocked') && !off.has(name),
  );
  return inactive || troubled ? 'degraded' : 'ok';
}

function statusesOf(health: Health): Health {
  const components = Object.entries(health.components).map(([name, { status }]) => [name, { status }] as const);
  const { ok, status, uptimeMs } = health;
  return { ok, status, components: Object.fromEntries(components), bridge: { link: health.bridge.link }, uptimeMs };
}
