/**
 * AsyncAPI 3.0 of every event of the device, from the table of topics. Source:
 * https://www.asyncapi.com/docs/reference/specification/v3.0.0
 */

import { EVENTS, type EventDescription, PRIORITIES } from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

const OWN = 'app.{app}.event.{name}';
const ENVELOPE: JsonSchema = {
  type: 'object',
  required: ['topic', 'ts', 'seq', 'source', 'priority', 'payload'],
  properties: {
    topic: { type: 'string' },
    ts: { type: 'integer', description: 'milliseconds since the Unix epoch, set by the Core' },
    seq: { type: 'integer', description: 'gapless, so that a subscriber can see a loss' },
    source: {
      type: 'string',
      description: '`core`, `app.<id>`, `operator` or, for a test of the operator, `test.app.<id>`, set by the Core',
    },
    via: { type: 'string', description: 'of an event of the Core: the plugin that published it' },
    priority: { enum: [...PRIORITIES] },
    payload: { type: 'object' },
  },
};

/** `send` is what the Core sends to subscribers, `receive` what it takes from apps. */
export function asyncapi(device: DeviceInfo): object {
  const own: EventDescription = {
    summary: 'an event of an app, below its own namespace',
    apps: true,
    payload: { type: 'object' },
  };
  const table = Object.entries<EventDescription>({ ...EVENTS, [OWN]: own });
  const each = <T>(make: (topic: string, event: EventDescription) => readonly (readonly [string, T])[]) =>
    Object.fromEntries(table.flatMap(([topic, event]) => make(topic, event)));
  return {
    asyncapi: '3.0.0',
    info: {
      title: `${device.sku.title}: events`,
      version: device.core.version,
      description:
        'GET /events streams them as server-sent events; on the socket of an app `events.subscribe` asks for them, and they come as notifications `event`. `POST /events/publish` and `events.publish` publish.',
    },
    defaultContentType: 'application/json',
    channels: each((topic, { summary, retained }) => [
      [
        idOf(topic),
        {
          address: topic,
          summary,
          ...(retained ? { description: 'The latest is told to each new subscriber.', 'x-retained': true } : {}),
          ...(topic === OWN && {
            parameters: { app: { description: 'id of the app' }, name: { description: 'its own' } },
          }),
          messages: { event: { $ref: `#/components/messages/${idOf(topic)}` } },
        },
      ],
    ]),
    operations: each((topic, { summary, apps }) => [
      [`send-${idOf(topic)}`, operation('send', topic, summary)] as const,
      ...(apps ? [[`receive-${idOf(topic)}`, operation('receive', topic, summary)] as const] : []),
    ]),
    components: {
      messages: each((topic, { summary, payload }) => [
        [
          idOf(topic),
          {
            name: topic,
            summary,
            payload: { allOf: [{ $ref: '#/components/schemas/envelope' }, { properties: { payload } }] },
          },
        ],
      ]),
      schemas: { envelope: ENVELOPE },
    },
  };
}

function operation(action: 'send' | 'receive', topic: string, summary: string): object {
  const channel = `#/channels/${idOf(topic)}`;
  return { action, summary, channel: { $ref: channel }, messages: [{ $ref: `${channel}/messages/event` }] };
}

/** `system.presence` -> `system-presence`: a name that a reference can hold. */
function idOf(topic: string): string {
  return topic.replace(/[^A-Za-z0-9]+/g, '-').replace(/-$/, '');
}
