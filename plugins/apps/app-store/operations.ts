/** apps.install, update, rollback, remove, switch, installed, upload. What takes long is a change. */

import { CoreError, type CoreErrorCode, callerName, maybe } from '@device-core/plugin-api';
import type { ChangeRequest } from '@device-core/plugin-api/inside/services/changes';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';
import type { Changing, StoreView } from '../shared/package-store/offer.ts';
import { Installation } from './installation.ts';
import type { AppEntry, Installed } from './installed.ts';
import type { InstallRequest } from './outcome.ts';
import type { Parts } from './parts.ts';
import { removalMaker, removalOf } from './removal.ts';
import { beforeOf, rollbackMaker } from './rollback.ts';
import { switchMaker } from './switching.ts';

/** As long as a large package takes to be unpacked and read on a slow card. */
const CHECK_MS = 120_000;
const TEXT: JsonSchema = { type: 'string' };
const ID: JsonSchema = { type: 'string', minLength: 1, maxLength: 128, description: 'app id' };
const HASH: JsonSchema = { type: 'string', description: 'sha256:<hex> over the list of its files' };
const TIME: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const CHANGE_ID: JsonSchema = { type: 'string', description: 'id of the change; changes.get tells how far it is' };
const CHANGE: JsonSchema = { type: 'object', required: ['change'], properties: { change: CHANGE_ID } };
const SIGNER: JsonSchema = { type: 'string', description: 'fingerprint of the trusted key that signed it' };
const SOURCE: JsonSchema = {
  type: 'string',
  minLength: 2,
  maxLength: 4096,
  description: 'absolute path of an .app file on the device, or upload:<id>',
};
const OUTCOME: Readonly<Record<string, JsonSchema>> = {
  state: { enum: ['checked', 'installed'] },
  id: ID,
  version: TEXT,
  name: TEXT,
  title: TEXT,
  hash: HASH,
  signer: SIGNER,
  signedBy: { type: 'string', description: 'name that the SKU gives that key' },
  former: { type: 'string', description: 'version that was there before' },
  capabilities: { type: 'array', items: TEXT },
};
const VERSION: Readonly<Record<string, JsonSchema>> = {
  version: TEXT,
  name: TEXT,
  hash: HASH,
  signer: SIGNER,
  dataVersion: { type: 'integer', description: 'form of its data' },
};
const INSTALLED: JsonSchema = {
  type: 'object',
  required: ['id', 'version', 'name', 'hash', 'dataVersion', 'enabled', 'installedAt'],
  properties: {
    id: ID,
    ...VERSION,
    installedAt: TIME,
    enabled: { type: 'boolean' },
    uid: { type: 'integer', description: 'user of its own' },
    former: { type: 'object', properties: VERSION, description: 'what apps.rollback brings back' },
  },
};
const ROLLED_BACK: JsonSchema = {
  type: 'object',
  required: ['id', 'version', 'reason', 'at'],
  properties: { id: ID, version: TEXT, reason: TEXT, at: TIME },
};
const RETAINED: JsonSchema = {
  type: 'object',
  required: ['id', 'version', 'until', 'bytes'],
  properties: { id: ID, version: TEXT, until: TIME, bytes: { type: 'integer' }, signer: SIGNER },
};
const OPTIONS: Readonly<Record<string, JsonSchema>> = {
  version: { ...TEXT, maxLength: 64, description: 'the version that is meant: another one is refused' },
  downgrade: { type: 'boolean', description: 'take an older version, too' },
  discardData: { type: 'boolean', description: 'begin without data where they are of a form that it does not know' },
  grants: {
    type: 'array',
    maxItems: 64,
    items: TEXT,
    description:
      'capabilities that are allowed with it. Optional ones that are not listed are then denied. Class oem comes from the SKU alone',
  },
};
const BEGINS: readonly CoreErrorCode[] = ['BUSY', 'UNAVAILABLE', ...STATE_ERRORS];
const REFUSES: readonly CoreErrorCode[] = [
  'CALLER_DENIED',
  ...(['PACKAGE_INVALID', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN', 'SIGNATURE_INVALID', 'APP_CONFLICT'] as const),
  ...(['PLATFORM_UNSUPPORTED', 'RUNTIME_MISSING', 'CONSENT_REQUIRED', 'APP_ROLLED_BACK'] as const),
];

export function storeOperations(parts: Parts, changing: Changing): StoreView {
  const { store } = parts;
  const installing = {
    install: new Installation('apps.install', parts),
    update: new Installation('apps.update', parts),
  };
  const rollingBack = rollbackMaker(parts);
  const removing = removalMaker(parts);
  const switching = switchMaker(parts);

  const brought = async (maker: Installation, request: InstallRequest, call: Parameters<Operation['run']>[1]) => {
    const { discard, ...change } = await maker.begin(request, call.caller);
    return changing(change).then(
      (id) => ({ change: id }),
      async (thrown) => {
        await discard();
        throw thrown;
      },
    );
  };
  const install: Operation<InstallRequest & { readonly check?: boolean }, unknown> = {
    name: 'apps.install',
    sensitive: { act: 'install an app', unless: { check: true } },
    summary: 'Install an app from a package, or bring a new version of it',
    description:
      'The package is checked before the answer. The rest is a change: consent, files, data, start, and a probation. A version that fails makes room for what ran before, with its data; the error of the change is then APP_ROLLED_BACK.',
    params: {
      ...exactly({ source: SOURCE }),
      properties: {
        source: SOURCE,
        id: { ...ID, description: 'the app that is meant: a package of another one is refused' },
        check: { type: 'boolean', description: 'ask everything, do nothing' },
        ...OPTIONS,
      },
    },
    result: {
      type: 'object',
      description: 'with `check` what would be installed, else the change; its result is of the same form',
      properties: { change: CHANGE_ID, ...OUTCOME },
    },
    capability: 'system.apps',
    cli: { hide: true },
    rest: {
      method: 'POST',
      path: '/apps/install',
      status: 202,
      statusBy: { member: 'state', map: { checked: 200 } },
    },
    errors: [...REFUSES, ...BEGINS],
    timeoutMs: CHECK_MS,
    about: ({ check: _, ...request }) => installing.install.about(request),
    async run({ check, ...request }, call) {
      return check ? installing.install.check(request) : brought(installing.install, request, call);
    },
  };
  const upload: Operation<{ readonly file: string }, unknown> = {
    name: 'apps.upload',
    summary: 'Hand over the package of an app from another machine',
    description:
      'The body is the .app file. Its id, as `upload:<id>`, is a source for a while: of eight uploads the oldest goes.',
    params: exactly({ file: { type: 'string', description: 'where the body lies; made by the front end' } }),
    result: {
      type: 'object',
      required: ['upload', 'source', 'bytes'],
      properties: { upload: TEXT, source: TEXT, bytes: { type: 'integer' } },
    },
    capability: 'system.apps',
    rpc: false,
    cli: { hide: true },
    rest: { method: 'POST', path: '/apps/uploads', raw: true, bodyLimit: store.limits.bytes },
    errors: STATE_ERRORS,
    timeoutMs: CHECK_MS,
    run: ({ file }) => parts.uploads.take(file),
  };
  const update: Operation<InstallRequest & { readonly id: string }, unknown> = {
    name: 'apps.update',
    sensitive: { act: 'update the app {id}' },
    summary: 'Bring a new version of an app that is installed',
    description:
      'The former version runs until its consent is there and its files are in place. It comes back with its data when the new one fails its probation.',
    params: { ...exactly({ id: ID, source: SOURCE }), properties: { id: ID, source: SOURCE, ...OPTIONS } },
    result: CHANGE,
    capability: 'system.apps',
    cli: { hide: true },
    rest: { method: 'POST', path: '/apps/:id/update', status: 202 },
    errors: ['APP_NOT_FOUND', ...REFUSES, ...BEGINS],
    timeoutMs: CHECK_MS,
    about: async (request) => installing.update.about({ ...request, id: await nameOf(parts, request.id) }),
    async run(request, call) {
      const id = await nameOf(parts, request.id);
      return brought(installing.update, { ...request, id }, call);
    },
  };
  const rollback: Operation<{ readonly id: string }, unknown> = {
    name: 'apps.rollback',
    sensitive: { act: 'roll the app {id} back' },
    summary: 'Bring the version before back, with its data where they were copied',
    params: exactly({ id: ID }),
    result: CHANGE,
    capability: 'system.apps',
    cli: { progress: 'going back', done: '{id} {version} is back' },
    rest: { method: 'POST', path: '/apps/:id/rollback', status: 202 },
    errors: ['APP_NOT_FOUND', 'APP_CONFLICT', ...BEGINS],
    async about({ id }) {
      const app = await nameOf(parts, id);
      const { version } = beforeOf(app, store.installed.apps[app]).to;
      return { ...(await subjectOf(parts, app)), version };
    },
    async run({ id }, { caller }) {
      const app = await nameOf(parts, id);
      const data = beforeOf(app, store.installed.apps[app]);
      const summary = `roll ${app} back to ${data.to.version}`;
      return { change: await changing(requestOf(rollingBack.kind, app, summary, data, callerName(caller))) };
    },
  };
  const remove: Operation<{ readonly id: string; readonly purge?: boolean }, unknown> = {
    name: 'apps.remove',
    sensitive: { act: 'remove the app {id}' },
    summary: 'Remove an app; its data are kept for a while, or purged now',
    params: {
      ...exactly({ id: ID }),
      properties: {
        id: ID,
        purge: { type: 'boolean', description: 'its data, too, also those of one removed before' },
      },
    },
    result: CHANGE,
    capability: 'system.apps',
    cli: {
      progress: 'removing',
      done: [
        '{id} was removed; its data are kept until {until:date}',
        '{id} was removed; its data are in {remains} until the Core starts again with the warden there',
        '{id} was removed',
      ],
    },
    rest: { method: 'POST', path: '/apps/:id/remove', status: 202 },
    errors: ['APP_NOT_FOUND', 'APP_CONFLICT', ...BEGINS],
    async about({ id }) {
      return Object.hasOwn(store.installed.retained, id) ? { id } : subjectOf(parts, await nameOf(parts, id));
    },
    async run({ id, purge = false }, { caller }) {
      const app = Object.hasOwn(store.installed.retained, id) ? id : await nameOf(parts, id);
      const data = removalOf(app, purge, store.installed);
      const summary = `remove ${app}${purge ? ' with its data' : ''}`;
      return { change: await changing(requestOf(removing.kind, app, summary, data, callerName(caller))) };
    },
  };
  const turn: Operation<{ readonly id: string; readonly enabled: boolean }, unknown> = {
    name: 'apps.switch',
    summary: 'Switch an app off or on for good, also one of the image',
    params: exactly({ id: ID, enabled: { type: 'boolean' } }),
    result: CHANGE,
    capability: 'system.apps',
    cli: [
      { command: 'app enable', fixed: ['id'], given: { enabled: true }, done: '{id} is {state}' },
      { command: 'app disable', fixed: ['id'], given: { enabled: false }, done: '{id} is {state}' },
    ],
    rest: { method: 'POST', path: '/apps/:id/switch', status: 202 },
    errors: ['APP_NOT_FOUND', ...BEGINS],
    async run({ id, enabled }, { caller }) {
      const app = await nameOf(parts, id);
      const data = { app, enabled, was: !store.installed.disabled.includes(app) };
      const summary = `switch ${app} ${enabled ? 'on' : 'off'}`;
      return { change: await changing(requestOf(switching.kind, app, summary, data, callerName(caller))) };
    },
  };
  const list: Operation<never, unknown> = {
    name: 'apps.installed',
    summary: 'Apps that were installed, versions that did not pass their probation, and data that are kept',
    params: { type: 'object', additionalProperties: false, properties: {} },
    result: {
      type: 'object',
      required: ['apps', 'rolledBack', 'retained', 'disabled'],
      properties: {
        apps: { type: 'array', items: INSTALLED },
        rolledBack: { type: 'array', items: ROLLED_BACK },
        retained: { type: 'array', items: RETAINED, description: 'data of apps that were removed' },
        disabled: {
          type: 'array',
          items: ID,
          description: 'apps that are switched off, those of the image among them',
        },
      },
    },
    capability: 'system.apps',
    cli: { hide: true },
    rest: { method: 'GET', path: '/apps/installed' },
    errors: [],
    run: () => listing(parts),
  };
  return {
    operations: [install, upload, update, rollback, remove, turn, list],
    makers: [installing.install, installing.update, rollingBack, removing, switching],
  };
}

function requestOf(kind: string, app: string, summary: string, data: ChangeRequest['data'], by: string): ChangeRequest {
  return { kind, subject: `app ${app}`, summary, data, by };
}

/** The id of an app that is named by it, or by its short name. Throws APP_NOT_FOUND. */
async function nameOf({ store, apps }: Parts, app: string): Promise<string> {
  const { apps: installed } = store.installed;
  if (Object.hasOwn(installed, app)) return app;
  const named = Object.keys(installed).find((id) => installed[id]?.name === app);
  if (named !== undefined) return named;
  const { id } = await apps.status(app);
  if (id === '') throw new CoreError('APP_NOT_FOUND', { app });
  return id;
}

/** An installed app, for the person who confirms an act. */
async function subjectOf({ store, apps }: Parts, id: string): Promise<ActSubject> {
  const entry = store.installed.apps[id];
  const title = await apps.manifest(id).then(
    (manifest) => manifest.title,
    () => undefined, // code that cannot be read has no title; it can be removed all the same
  );
  return {
    id,
    ...maybe({ title }),
    ...(entry ? { version: entry.version, signer: (await store.signerOf(id)) ?? null } : {}),
  };
}

async function listing({ store }: Parts): Promise<object> {
  const { installed } = store;
  return {
    apps: Object.entries(installed.apps).map(([id, entry]) => view(id, entry, installed)),
    rolledBack: Object.entries(installed.rolledBack).map(([id, one]) => ({ id, ...one })),
    retained: await Promise.all(
      Object.entries(installed.retained).map(async ([id, { version, until, signer }]) => ({
        id,
        version,
        until,
        bytes: await store.data.bytes(id),
        ...maybe({ signer }),
      })),
    ),
    disabled: installed.disabled,
  };
}

function view(id: string, entry: AppEntry, { disabled, uids }: Installed): object {
  const { former, installedAt, version, name, hash, signer, dataVersion } = entry;
  const uid = uids[id];
  return {
    id,
    version,
    name,
    hash,
    dataVersion,
    installedAt,
    enabled: !disabled.includes(id),
    ...maybe({ signer, uid }),
    ...(former ? { former: { version: former.version, hash: former.hash, dataVersion: former.dataVersion } } : {}),
  };
}
