import { type CallContext, CoreError, callerName } from '@device-core/plugin-api';
import type { Grants, Refusal } from '@device-core/plugin-api/inside/services/grants';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { Operation } from '@device-core/plugin-api/services/operations';

const IDS = { type: 'array', items: { type: 'string' } };

interface Uses {
  readonly id: string;
  readonly claimed: readonly string[];
  readonly used: readonly string[];
  readonly refused: readonly Pick<Refusal, 'capability' | 'hint' | 'ts' | 'first' | 'count'>[];
}

/**
 * Claimed capabilities that an app used, as far as the Core decides them: uses that the sandbox alone allows are not
 * seen.
 */
export function useOperation(
  grants: Grants,
  find: (id: string) => { readonly manifest: AppManifest },
  mayAdminister: (call: CallContext) => boolean,
): Operation<{ readonly id: string }, Uses> {
  return {
    name: 'apps.uses',
    summary: 'Capabilities that an app used, of those that it claims',
    description:
      'Since it was last started. Files, devices and the network are opened inside its sandbox, of which the Core is not asked: they are never among `used`. `refused` holds what is among the last refusals of the device.',
    params: exactly({
      id: { type: 'string', minLength: 1, maxLength: 128, description: 'App id, or its short name.' },
    }),
    result: {
      type: 'object',
      required: ['id', 'claimed', 'used', 'refused'],
      properties: {
        id: { type: 'string' },
        claimed: { ...IDS, description: 'As app.yaml says.' },
        used: { ...IDS, description: 'What a call needed, in its narrowest form.' },
        refused: {
          type: 'array',
          items: {
            type: 'object',
            properties: {
              capability: { type: 'string' },
              hint: { type: 'string', description: 'The line that would grant it.' },
              ts: { type: 'integer', description: 'the last time; milliseconds since the Unix epoch' },
              first: { type: 'integer', description: 'the first time; milliseconds since the Unix epoch' },
              count: { type: 'integer', description: 'how often' },
            },
          },
        },
      },
    },
    access: 'The operator, holders of system.apps, and the app itself.',
    rest: { method: 'GET', path: '/apps/:id/uses' },
    errors: ['APP_NOT_FOUND', 'CALLER_DENIED', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN'],
    async run({ id: named }, call) {
      const { id, capabilities } = find(named).manifest;
      if (!mayAdminister(call) && !(call.caller.kind === 'app' && call.caller.id === id))
        throw new CoreError('CALLER_DENIED', {
          verb: `see what ${id} used`,
          reason: `${callerName(call.caller)} is neither that app nor a holder of system.apps`,
        });
      const own = { kind: 'app', id } as const;
      const [used, all] = await Promise.all([grants.used(own), grants.refusals()]);
      const refused = all
        .filter(({ caller }) => caller.kind === 'app' && caller.id === id)
        .map(({ capability, hint, ts, first, count }) => ({ capability, hint, ts, first, count }));
      return { id, claimed: capabilities.map((one) => one.id), used, refused };
    },
  };
}
