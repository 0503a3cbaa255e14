/** apps.grant, apps.revoke: the operator's word about one capability of one app, which takes effect at once. */

import {
  type CallContext,
  type CapabilityId,
  CoreError,
  callerName,
  classOf,
  describeCapability,
  implies,
  maybe,
  unknownCapability,
} from '@device-core/plugin-api';
import { answersAbout, decide, itemOf, rulingOf, skuGrantLine } from '@device-core/plugin-api/inside/consent';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { AppManifest, AppStatus } from '@device-core/plugin-api/services/apps';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';
import type { AppContext } from './app-context.ts';
import { BY_APP, CHANGE_MS, ONE_APP } from './app-operations.ts';
import type { Supervisor } from './supervisor.ts';

const CAPABILITY: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 128,
  description: 'As in app.yaml: bridges.spi:flash.',
};

interface Params {
  readonly id: string;
  readonly capability: string;
}
type OneApp = { readonly app: AppStatus };

export function grantOperations(supervisor: Supervisor, context: AppContext): readonly Operation<never, unknown>[] {
  const subjectOf = async (named: string, capability: string): Promise<ActSubject> => {
    const { manifest } = supervisor.find(named);
    const { id, title, version, capabilities } = manifest;
    const asked = capabilities.filter((one) => one.id === capability);
    if (!describeCapability(capability)) throw unknownCapability(capability);
    if (asked.length === 0) throw notAsked('grant', capability, manifest);
    const rules = { ...context.consents.rulesFor(id), skuGrants: context.device.grants, whole: capabilities };
    const signer = await context.stored.signerOf(id);
    const what = decide({ id, capabilities: asked }, rules).map(itemOf);
    return { id, title, version, what, ...maybe({ signer }) };
  };
  const operation = (
    verb: 'grant' | 'revoke',
    { summary, description }: { readonly summary: string; readonly description: string },
    capabilitiesOf: (manifest: AppManifest, capability: CapabilityId) => readonly CapabilityId[],
  ): Operation<Params, OneApp> => ({
    name: `apps.${verb}`,
    summary,
    description,
    access: 'The operator only.',
    ...(verb === 'grant' && {
      sensitive: { act: 'grant a right to the app {id}' },
      about: ({ id, capability }: Params) => subjectOf(id, capability),
    }),
    params: exactly({ id: BY_APP, capability: CAPABILITY }),
    result: ONE_APP,
    rest: { method: 'POST', path: `/apps/:id/${verb}` },
    cli: {
      progress: 'waiting for its restart',
      done: `${verb === 'grant' ? 'granted' : 'revoked'} {capability}; {app.id} is {app.state}`,
    },
    errors: [
      'CALLER_DENIED',
      'APP_NOT_FOUND',
      'APP_CONFLICT',
      'CAPABILITY_UNKNOWN',
      'MANIFEST_INVALID',
      'UNAVAILABLE',
      'STATE_UNWRITABLE',
    ],
    timeoutMs: CHANGE_MS,
    async run({ id, capability }, call) {
      requireOperator(call, verb);
      const { manifest } = supervisor.find(id);
      if (!describeCapability(capability)) throw unknownCapability(capability);
      const named = capabilitiesOf(manifest, capability as CapabilityId);
      const said = { allowed: verb === 'grant', by: callerName(call.caller), at: context.scope.clock.now() };
      const answers = answersAbout(manifest, named, said);
      await context.consents.keep(manifest.id, answers);
      await supervisor.regrant(manifest.id);
      return { app: await supervisor.status(manifest.id) };
    },
  });
  return [
    operation(
      'grant',
      {
        summary: 'Give an app a capability that it asks for',
        description: 'It starts again with it. Class oem comes from the SKU alone.',
      },
      (manifest, capability) => {
        const refuse = (reason: string): never => {
          throw new CoreError('APP_CONFLICT', { verb: `grant ${capability} to`, app: manifest.id, reason });
        };
        if (!manifest.capabilities.some(({ id }) => id === capability)) throw notAsked('grant', capability, manifest);
        if (mayBeGranted(manifest.id, capability, context)) return [capability];
        const { line } = rulingOf(context.consents.rulesFor(manifest.id).policy, capability);
        const sku = skuGrantLine(manifest.id, capability);
        const why =
          classOf(capability) === 'oem' ? `class oem comes from the SKU alone (${line})` : `the SKU says ${line}`;
        return refuse(`${why}; there "${sku}" grants it`);
      },
    ),
    operation(
      'revoke',
      {
        summary: 'Take a capability from an app, and what it implies',
        description:
          'The app loses the right at once and starts again without it. This stands over the SKU, until it is granted again.',
      },
      (manifest, capability) => {
        const declared = manifest.capabilities.map(({ id }) => id);
        // Capabilities that it contains go with it, and those that contain it cannot stay.
        const all = declared.filter((one) => implies(capability, one) || implies(one, capability));
        if (all.length === 0) throw notAsked('revoke', capability, manifest);
        return all;
      },
    ),
  ];
}

function notAsked(verb: 'grant' | 'revoke', capability: string, { id, capabilities }: AppManifest): CoreError {
  const reason = `it asks for ${capabilities.map((one) => one.id).join(', ') || 'nothing'}`;
  return new CoreError('APP_CONFLICT', {
    verb: `${verb} ${capability} ${verb === 'grant' ? 'to' : 'of'}`,
    app: id,
    reason,
  });
}

/** Neither the policy nor its class keeps the operator from granting it to this app. */
export function mayBeGranted(app: string, capability: string, context: AppContext): boolean {
  const { ruling } = rulingOf(context.consents.rulesFor(app).policy, capability);
  return ruling !== 'deny' || isNamed(app, capability, context);
}

function isNamed(app: string, capability: string, { device }: AppContext): boolean {
  return [app, '*'].some((whose) => device.grants[whose]?.some((grant) => implies(grant, capability)));
}

function requireOperator({ caller }: CallContext, verb: string): void {
  if (caller.kind === 'operator') return;
  const reason = `${callerName(caller)} is not the operator of the device`;
  throw new CoreError('CALLER_DENIED', { verb: `${verb} capabilities`, reason });
}
