/** apps.describe: what an app says of itself in its app.yaml, and what is decided about each capability that it asks for. */

import { type CallContext, CoreError, callerName, maybe } from '@device-core/plugin-api';
import { type Decision, decide } from '@device-core/plugin-api/inside/consent';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { AppContext } from './app-context.ts';
import { BY_APP } from './app-operations.ts';
import { ASK, ASK_REQUIRED } from './diff-operation.ts';
import { mayBeGranted } from './grant-operations.ts';
import type { Supervisor } from './supervisor.ts';
import type { TriedApps } from './tried-apps.ts';

const TEXT: JsonSchema = { type: 'string' };
const TOPICS: JsonSchema = { type: 'array', items: TEXT };
const EVENTS: JsonSchema = { type: 'object', properties: { subscribe: TOPICS, publish: TOPICS, public: TOPICS } };
const ORIGINS = ['trial', 'package', 'folder'] as const;

export interface Ask extends Decision {
  /** The operator can grant it: apps.grant would take it. */
  readonly grantable: boolean;
}

export interface Description
  extends Pick<AppManifest, 'id' | 'version' | 'title' | 'description' | 'author' | 'license' | 'events'> {
  readonly origin: (typeof ORIGINS)[number];
  readonly hasSettings: boolean;
  readonly asks: readonly Ask[];
}

export function describeOperation(
  supervisor: Supervisor,
  context: AppContext,
  tried: TriedApps,
  mayAdminister: (call: CallContext) => boolean,
): Operation<{ readonly id: string }, Description> {
  return {
    name: 'apps.describe',
    summary: 'Description of an app, and the decision about each requested capability',
    description: 'Title, description, author, license and each reason are words of the app.',
    access: 'The operator, holders of system.apps, and the app itself.',
    params: exactly({ id: BY_APP }),
    result: {
      type: 'object',
      required: ['id', 'version', 'title', 'origin', 'hasSettings', 'asks'],
      properties: {
        id: TEXT,
        version: TEXT,
        title: TEXT,
        description: TEXT,
        author: TEXT,
        license: TEXT,
        events: EVENTS,
        origin: { enum: ORIGINS, description: 'its author tries it; a package that was installed; a folder' },
        hasSettings: { type: 'boolean', description: 'its app.yaml has a schema of settings' },
        asks: {
          type: 'array',
          items: {
            type: 'object',
            required: [...ASK_REQUIRED, 'grantable'],
            properties: { ...ASK, grantable: { type: 'boolean', description: 'apps.grant would take it' } },
          },
        },
      },
    },
    cli: { command: 'app describe' },
    rest: { method: 'GET', path: '/apps/:id/description' },
    errors: ['APP_NOT_FOUND', 'CALLER_DENIED', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN'],
    async run({ id: named }, call) {
      const { manifest, folder } = supervisor.find(named);
      const { id, version, title, description, author, license, events, config } = manifest;
      if (!mayAdminister(call) && !(call.caller.kind === 'app' && call.caller.id === id))
        throw new CoreError('CALLER_DENIED', {
          verb: `see what ${id} asks for`,
          reason: `${callerName(call.caller)} is neither that app nor a holder of system.apps`,
        });
      await context.consents.look(id);
      const asks = decide(manifest, { skuGrants: context.device.grants, ...context.consents.rulesFor(id) });
      const isTried = tried.apps.some((one) => one.id === id);
      return {
        id,
        version,
        title,
        ...maybe({ description, author, license, events }),
        origin: isTried ? 'trial' : context.stored.has(folder) ? 'package' : 'folder',
        hasSettings: config?.schema !== undefined,
        asks: asks.map((ask) => ({
          ...ask,
          grantable: context.consents.askable && mayBeGranted(id, ask.capability, context),
        })),
      };
    },
  };
}
