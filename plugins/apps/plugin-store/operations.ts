/** plugins.install, plugins.installed, plugins.remove, plugins.switch, plugins.rollback. */

import {
  CoreError,
  type CoreErrorCode,
  callerName,
  maybe,
  PLUGIN_STATES,
  type PluginState,
} from '@device-core/plugin-api';
import type { InstalledPlugin, RolledBack } from '@device-core/plugin-api/inside/installed';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Changing, StoreView } from '../shared/package-store/offer.ts';
import { Installation } from './installation.ts';
import type { InstallRequest, Running } from './outcome.ts';
import { installedPage } from './page.ts';
import type { Probation } from './probation.ts';
import { rollbackMaker } from './rollback.ts';
import type { PluginStore } from './store.ts';

/** As long as plugins may take to stop and start twice: forwards, and back. */
const TIMEOUT_MS = 180_000;
const ISOLATION: JsonSchema = { enum: ['inline', 'worker', 'process'] };
const ID: JsonSchema = { type: 'string' };
const TIME: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const CONFIG: JsonSchema = { type: 'object', additionalProperties: true };
const HASH: JsonSchema = { type: 'string', description: 'sha256:<hex> over the list of its files' };
const VERSION: JsonSchema = {
  type: 'object',
  properties: { version: { type: 'string' }, hash: HASH, isolation: ISOLATION, config: CONFIG },
};
const RUNNING: JsonSchema = {
  type: 'object',
  description: 'what the Core runs of it now; absent where it runs nothing',
  required: ['version', 'state'],
  properties: { version: { type: 'string' }, state: { enum: [...PLUGIN_STATES] }, reason: { type: 'string' } },
};
const INSTALLED: JsonSchema = {
  type: 'object',
  required: ['id', 'version', 'state', 'hash', 'isolation', 'enabled', 'config', 'installedAt'],
  properties: {
    id: ID,
    version: { type: 'string' },
    hash: HASH,
    isolation: ISOLATION,
    config: CONFIG,
    installedAt: TIME,
    installedBy: { type: 'string', description: 'the caller who installed it, where that is known' },
    state: { enum: ['probation', 'good'] },
    enabled: { type: 'boolean' },
    probationEndsAt: { ...TIME, description: 'while it runs: when it will count as good' },
    lastGood: { ...VERSION, description: 'the last version that was proven' },
    former: { ...VERSION, description: 'on probation: what ran before it, and comes back when it fails' },
    running: RUNNING,
  },
};
const ROLLED_BACK: JsonSchema = {
  type: 'object',
  required: ['id', 'version', 'reason', 'at'],
  properties: {
    id: ID,
    version: { type: 'string' },
    reason: { type: 'string' },
    at: TIME,
    running: RUNNING,
    config: { ...CONFIG, description: 'its settings, where nothing came back: the next version gets them' },
  },
};
const TEXTS: JsonSchema = { type: 'array', items: { type: 'string' } };
const CLAIMS: JsonSchema = {
  type: 'object',
  required: ['isolation', 'capabilities', 'files', 'services', 'taps'],
  properties: {
    isolation: { ...ISOLATION, description: 'where it runs; only a process is a wall' },
    capabilities: { ...TEXTS, description: 'host powers, the network among them' },
    files: { type: 'object', properties: { read: TEXTS, write: TEXTS }, description: 'files beside its own' },
    services: { ...TEXTS, description: 'powerful services that it claims, the greatest risk first' },
    taps: { ...TEXTS, description: 'hooks that see or change what others do' },
  },
};
const OUTCOME: JsonSchema = {
  type: 'object',
  required: ['state', 'id', 'version', 'hash', 'isolation', 'capabilities', 'claims', 'added', 'digest'],
  properties: {
    state: { enum: ['checked', 'probation', 'good'] },
    id: ID,
    version: { type: 'string' },
    hash: HASH,
    isolation: ISOLATION,
    former: { type: 'string', description: 'version before' },
    running: RUNNING,
    capabilities: { type: 'array', items: { type: 'string' }, description: 'host powers that it asks for' },
    claims: CLAIMS,
    added: { ...TEXTS, description: 'what of the claims the version before did not have' },
    digest: { ...HASH, description: 'names this package with these claims, for `accept`' },
    signer: { type: 'string', description: 'fingerprint of the trusted key that signed it' },
  },
};
const CHANGE_ID: JsonSchema = { type: 'string', description: 'id of the change; changes.get tells how far it is' };
/** One plugin may need another: changes of plugins are made one after the other. */
const SUBJECT = 'plugins';
const BY_ID: JsonSchema = exactly({ id: ID });
const ABOUT_ONE: JsonSchema = { type: 'object', required: ['plugin'], properties: { plugin: INSTALLED } };
const UNDONE: readonly CoreErrorCode[] = [...STATE_ERRORS, 'CHANGE_UNDONE', 'SKU_INVALID', 'BUSY', 'UNAVAILABLE'];

export interface InstalledView extends InstalledPlugin {
  readonly id: string;
  readonly state: 'probation' | 'good';
  readonly probationEndsAt?: number;
  readonly running?: Running;
}

interface Listing {
  readonly plugins: readonly InstalledView[];
  readonly rolledBack: readonly (RolledBack & { readonly id: string })[];
  readonly disabled: readonly string[];
}

export function storeOperations(
  store: PluginStore,
  probation: Probation,
  place: string,
  changing: Changing,
): StoreView {
  const view = async (id: string, plugin: InstalledPlugin): Promise<InstalledView> => {
    const { probation: unproven, ...rest } = plugin;
    const endsAt = unproven ? probation.endsAt(id) : undefined;
    const ends = endsAt === undefined ? {} : { probationEndsAt: endsAt };
    const running = await store.runs.running(id);
    return { id, state: unproven ? 'probation' : 'good', ...rest, ...ends, ...maybe({ running }) };
  };
  const list: Operation<never, Listing> = {
    name: 'plugins.installed',
    summary: 'plugins that were installed on the device, and those that did not pass their probation',
    capability: 'system.plugins',
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['plugins', 'rolledBack', 'disabled'],
      properties: {
        plugins: { type: 'array', items: INSTALLED },
        rolledBack: { type: 'array', items: ROLLED_BACK },
        disabled: { type: 'array', items: ID, description: 'plugins of the SKU that are switched off' },
      },
    },
    page: installedPage,
    rest: { method: 'GET', path: '/plugins/installed' },
    errors: [],
    async run() {
      const { plugins, rolledBack, disabled } = store.installed;
      return {
        disabled,
        plugins: await Promise.all(Object.entries(plugins).map(([id, plugin]) => view(id, plugin))),
        rolledBack: await Promise.all(
          Object.entries(rolledBack).map(async ([id, one]) => {
            const running = await store.runs.running(id);
            return { id, ...one, ...maybe({ running }) };
          }),
        ),
      };
    },
  };
  const installation = new Installation(store, place);
  const install: Operation<InstallRequest, unknown> = {
    name: 'plugins.install',
    sensitive: { act: 'install a plugin', unless: { check: true } },
    summary: 'install or upgrade a plugin from a folder or a tarball on the device',
    description:
      'The package is checked before the answer. The rest is a change: it is done when the plugin is active and on probation. A version that fails then, or during its probation, makes room for what ran before; the error of the change is then PLUGIN_ROLLED_BACK.',
    capability: 'system.plugins',
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['source'],
      properties: {
        source: { type: 'string', minLength: 2, maxLength: 4096, description: 'absolute path on the device' },
        id: { ...ID, maxLength: 40, description: 'the plugin that is meant: a package of another one is refused' },
        version: { type: 'string', maxLength: 64, description: 'the version that is meant: another one is refused' },
        isolation: { ...ISOLATION, description: 'as before, else process' },
        config: { ...CONFIG, description: 'members over those of the version before; null takes one away' },
        accept: {
          ...HASH,
          description:
            'digest of the package and its claims: what CLAIMS_UNACCEPTED or a check names. Needed where it claims what the version before did not have',
        },
        check: { type: 'boolean', description: 'ask everything, do nothing' },
      },
    },
    result: {
      ...OUTCOME,
      description: 'with `check` what would be installed, else the change; its result is of the same form',
      required: [],
      properties: { change: CHANGE_ID, ...(OUTCOME.properties as object) },
    },
    rest: {
      method: 'POST',
      path: '/plugins/install',
      status: 202,
      statusBy: { member: 'state', map: { checked: 200 } },
    },
    errors: [
      ...(['PACKAGE_INVALID', 'MANIFEST_INVALID', 'API_VERSION_MISMATCH', 'CAPABILITY_UNKNOWN'] as const),
      ...(['PLUGIN_CONFLICT', 'SERVICE_ALREADY_PROVIDED', 'SERVICE_MISSING', 'ISOLATION_UNSUPPORTED'] as const),
      ...(['SIGNATURE_INVALID', 'CLAIMS_UNACCEPTED', 'CALLER_DENIED', 'PLUGIN_ROLLED_BACK', ...UNDONE] as const),
    ],
    timeoutMs: TIMEOUT_MS,
    about: (request) => installation.about(request),
    async run(request, { caller }) {
      const outcome = await installation.check(request);
      if (request.check) return outcome;
      const { id, version, added } = outcome;
      if (caller.kind === 'plugin' && added.length > 0) {
        const reason = `${callerName(caller)} is a plugin, and no plugin grants rights`;
        throw new CoreError('CALLER_DENIED', { verb: `grant the claims of ${id}`, reason });
      }
      const { kind } = installation;
      const summary = `install ${id} ${version}`;
      const by = callerName(caller);
      return {
        change: await changing({ kind, subject: SUBJECT, summary, data: { ...request, by }, by }),
      };
    },
  };
  const remove: Operation<{ readonly id: string }, unknown> = {
    name: 'plugins.remove',
    sensitive: { act: 'remove the plugin {id}' },
    summary: 'stop a plugin that was installed and remove it with its files',
    capability: 'system.plugins',
    params: BY_ID,
    result: ABOUT_ONE,
    cli: { done: '{plugin.id} {plugin.version} was removed' },
    rest: { method: 'POST', path: '/plugins/:id/remove' },
    errors: ['PLUGIN_NOT_FOUND', 'PLUGIN_CONFLICT', ...UNDONE],
    timeoutMs: TIMEOUT_MS,
    run: async ({ id }) => ({ plugin: await view(id, await store.remove(id)) }),
  };
  const back = rollbackMaker(store, view);
  const rollback: Operation<{ readonly id: string }, unknown> = {
    name: 'plugins.rollback',
    sensitive: { act: 'roll the plugin {id} back' },
    summary: 'bring the version before back',
    description:
      'What ran before a version on probation, else the last one that was proven. It is a change; its result has the plugin.',
    capability: 'system.plugins',
    params: BY_ID,
    result: { type: 'object', properties: { change: CHANGE_ID, plugin: INSTALLED } },
    cli: { progress: 'going back', done: '{plugin.id} {plugin.version} is back' },
    rest: { method: 'POST', path: '/plugins/:id/rollback', status: 202 },
    errors: ['PLUGIN_NOT_FOUND', 'PLUGIN_CONFLICT', ...UNDONE],
    timeoutMs: TIMEOUT_MS,
    async run({ id }, { caller }) {
      const { from, to } = store.before(id);
      const summary = `roll ${id} back to ${to.version}`;
      const data = { id, from, to };
      return { change: await changing({ kind: back.kind, subject: SUBJECT, summary, data, by: callerName(caller) }) };
    },
  };
  const turn: Operation<{ readonly id: string; readonly enabled: boolean }, unknown> = {
    name: 'plugins.switch',
    summary: 'switch a plugin on or off, for good; in safe mode also one that does not run now',
    capability: 'system.plugins',
    params: exactly({ id: { ...ID, pattern: '^[a-z][a-z0-9-]{0,39}$' }, enabled: { type: 'boolean' } }),
    result: {
      type: 'object',
      required: ['id', 'enabled'],
      properties: { id: ID, enabled: { type: 'boolean' }, state: { type: 'string' }, reason: { type: 'string' } },
    },
    cli: { hide: true },
    rest: { method: 'POST', path: '/plugins/:id/switch' },
    errors: ['PLUGIN_NOT_FOUND', 'PLUGIN_CONFLICT', ...UNDONE],
    timeoutMs: TIMEOUT_MS,
    async run({ id, enabled }) {
      const status: { readonly state?: PluginState; readonly reason?: string } =
        (await store.switch(id, enabled)) ?? {};
      const { state, reason } = status;
      return { id, enabled, ...maybe({ state }), ...(reason ? { reason } : {}) };
    },
  };
  return { operations: [list, install, remove, rollback, turn], makers: [installation, back] };
}
