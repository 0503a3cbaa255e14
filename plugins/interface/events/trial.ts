/**
 * events.test: the operator tries what an app would publish. The rights are those of the app, as they are now; the
 * event says that it is a test by its source, `test.app.<id>`, which no app and no plugin can have. What the test asks
 * is no use of a capability by the app and no refusal of the app, so neither is remembered.
 */

import {
  type Caller,
  type CapabilityId,
  CoreError,
  callerName,
  classOf,
  grantHint,
  implies,
} from '@device-core/plugin-api';
import type { EventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { Operation } from '@device-core/plugin-api/services/operations';
import {
  checkPublication,
  ON_THE_PANEL,
  PUBLISH_MEMBERS,
  PUBLISHED,
  type Published,
  type PublishParams,
} from './publishing.ts';
import { UiPayloads } from './ui-payloads.ts';

interface Params extends PublishParams {
  readonly app: string;
}

/** `apps` answers with undefined while no plugin runs apps. */
export function trialOperation(
  bus: EventBus,
  apps: () => Pick<Apps, 'status'> | undefined,
  run: string,
): Operation<Params, Published> {
  const payloads = new UiPayloads();
  return {
    name: 'events.test',
    summary: 'publish an event in the name of an app, for a test',
    description:
      'What the app itself may publish now, and no more. Its source is test.app.<id>, so receivers can tell it from an event of the app.',
    params: exactly(
      { app: { type: 'string', maxLength: 128, description: 'App id, or its short name.' }, ...PUBLISH_MEMBERS },
      ['app', 'topic', 'payload'],
    ),
    result: PUBLISHED,
    access: 'The operator only; the rights are those of the app.',
    rest: { method: 'POST', path: '/events/test', status: 202 },
    cli: { fixed: ['app', 'topic'] },
    errors: [
      ...(['APP_NOT_FOUND', 'TOPIC_INVALID', 'TOPIC_DENIED', 'CAPABILITY_DENIED'] as const),
      ...(['CALLER_DENIED', 'QUEUE_FULL', 'UNAVAILABLE'] as const),
    ],
    async run({ app, topic, payload, priority = 'normal' }, { caller }) {
      if (caller.kind !== 'operator')
        throw new CoreError('CALLER_DENIED', {
          verb: `publish for ${app}`,
          reason: 'only the operator of the device tests in the name of an app',
        });
      const service = apps();
      if (service === undefined)
        throw new CoreError('UNAVAILABLE', { what: 'events.test', reason: 'no plugin runs apps here' });
      const { id, capabilities } = await service.status(app);
      const named: Caller = { kind: 'app', id };
      checkPublication(rightsOf(capabilities), named, topic, priority);
      payloads.check(topic, payload, false);
      // A plugin that draws for apps learns from this member in whose name the test publishes.
      const whole = ON_THE_PANEL.includes(topic) ? { ...payload, app: id } : payload;
      const { seq } = await bus.publish({ topic, payload: whole, priority, source: `test.${callerName(named)}` });
      return { id: `${run}-${seq}`, seq };
    },
  };
}

function rightsOf(granted: readonly string[]) {
  return {
    /** Throws CAPABILITY_DENIED. */
    require(caller: Caller, capability: CapabilityId): void {
      if (granted.some((grant) => implies(grant, capability))) return;
      const hint = grantHint(caller, capability);
      throw new CoreError('CAPABILITY_DENIED', {
        caller: callerName(caller),
        capability,
        hint,
        class: classOf(capability) ?? 'oem',
      });
    },
  };
}
