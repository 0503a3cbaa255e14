/**
 * Rights to publish (decisions D5, D8). An app: `app.<its id>.event.**`, `ui.toast` and `ui.banner` with
 * `display.notify`, at priority `high` only with `events.publish.high`. The operator: every topic, for simulation and
 * diagnosis; its events carry the source `operator`. Priority `critical` is refused here: that is for the Core and
 * OEM plugins, which use the bus itself.
 */
import {
  type Caller,
  type Capabilities,
  CoreError,
  callerName,
  checkTopic,
  PRIORITIES,
  type Priority,
} from '@device-core/plugin-api';
import type { EventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { UiPayloads } from './ui-payloads.ts';

export interface PublishParams {
  readonly topic: string;
  readonly payload: object;
  readonly priority?: Priority;
}

export interface Published {
  /** Unique on this device over restarts of the Core. */
  readonly id: string;
  readonly seq: number;
}

/** Params and result of whatever publishes. */
export const PUBLISH_MEMBERS = {
  topic: { type: 'string', description: 'dotted segments of letters, digits, _ and -' },
  payload: { type: 'object', description: 'at most 64 KiB as JSON' },
  priority: { enum: [...PRIORITIES], description: 'normal if absent; critical is for the Core' },
} as const;
export const PUBLISHED = exactly({ id: { type: 'string' }, seq: { type: 'integer' } });

export const ON_THE_PANEL: readonly string[] = ['ui.toast', 'ui.banner'];

/** `run` distinguishes this run of the Core from others in event ids. */
export function publishOperation(
  bus: EventBus,
  capabilities: Capabilities,
  run: string,
): Operation<PublishParams, Published> {
  const payloads = new UiPayloads();
  return {
    name: 'events.publish',
    summary: 'publish an event',
    description:
      'Apps may publish app.<their id>.event.**, and with display.notify ui.toast and ui.banner. Accepted means that the event is on its way; a full queue is refused with QUEUE_FULL.',
    params: exactly(PUBLISH_MEMBERS, ['topic', 'payload']),
    result: PUBLISHED,
    access: 'An app publishes below its own name; a refusal of anything else names what would be needed.',
    rest: { method: 'POST', path: '/events/publish', status: 202 },
    errors: ['TOPIC_INVALID', 'TOPIC_DENIED', 'CAPABILITY_DENIED', 'CALLER_DENIED', 'QUEUE_FULL'],
    async run({ topic, payload, priority = 'normal' }, { caller }) {
      checkPublication(capabilities, caller, topic, priority);
      payloads.check(topic, payload, caller.kind === 'operator');
      const { seq } = await bus.publish({ topic, payload, priority, source: callerName(caller) });
      return { id: `${run}-${seq}`, seq };
    },
  };
}

/** Throws TOPIC_INVALID, TOPIC_DENIED, CAPABILITY_DENIED, CALLER_DENIED. */
export function checkPublication(
  capabilities: Pick<Capabilities, 'require'>,
  caller: Caller,
  topic: string,
  priority: Priority,
): void {
  checkTopic(topic);
  checkPublisher(capabilities, caller, topic);
  if (priority === 'critical')
    throw new CoreError('CALLER_DENIED', {
      verb: `publish ${topic} at priority critical`,
      reason: 'only the Core and OEM plugins may',
    });
  if (priority === 'high') capabilities.require(caller, 'events.publish.high');
}

function checkPublisher(capabilities: Pick<Capabilities, 'require'>, caller: Caller, topic: string): void {
  if (caller.kind === 'operator') return;
  if (caller.kind !== 'app') {
    // The manifest of a plugin bounds its events, and only its own bus knows that manifest.
    throw new CoreError('CALLER_DENIED', {
      verb: `publish ${topic} for ${callerName(caller)}`,
      reason: 'a plugin has host.bus',
    });
  }
  if (ON_THE_PANEL.includes(topic)) {
    capabilities.require(caller, 'display.notify');
    return;
  }
  const own = `app.${caller.id}.event.`;
  if (topic.startsWith(own)) return;
  const allowed = [`${own}**`, ...ON_THE_PANEL].join(', ');
  throw new CoreError('TOPIC_DENIED', { caller: callerName(caller), topic, allowed });
}
