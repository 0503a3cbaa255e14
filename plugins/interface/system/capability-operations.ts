/** capabilities.list and system.refusals: who may do what, and why not. */
import { CAPABILITIES, type Capabilities, type CapabilityId } from '@device-core/plugin-api';
import type { Grants } from '@device-core/plugin-api/inside/services/grants';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

const CLASS: JsonSchema = { enum: ['normal', 'sensitive', 'oem'] };
const CAPABILITY: JsonSchema = {
  type: 'object',
  required: ['id', 'summary', 'class'],
  properties: {
    id: { type: 'string' },
    summary: { type: 'string' },
    class: CLASS,
    scope: {
      type: 'object',
      required: ['names', 'class'],
      properties: { names: { type: 'string', description: 'what a scope names' }, class: CLASS },
    },
  },
};
const REFUSAL: JsonSchema = {
  type: 'object',
  required: ['ts', 'first', 'count', 'caller', 'capability', 'hint', 'class'],
  properties: {
    ts: { type: 'integer', description: 'the last time; milliseconds since the Unix epoch' },
    first: { type: 'integer', description: 'the first time; milliseconds since the Unix epoch' },
    count: { type: 'integer', description: 'how often, since the first time' },
    caller: {
      type: 'object',
      required: ['kind', 'id'],
      properties: { kind: { type: 'string' }, id: { type: 'string' } },
    },
    capability: { type: 'string' },
    hint: { type: 'string', description: 'what would grant it' },
    class: { type: 'string' },
  },
};

export function capabilityOperations(capabilities: Capabilities, grants: Grants) {
  const list: Operation<never, unknown> = {
    name: 'capabilities.list',
    summary: 'every capability there is, and what the caller holds',
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['capabilities', 'holds'],
      properties: {
        capabilities: { type: 'array', items: CAPABILITY },
        holds: { type: 'array', items: { type: 'string' } },
      },
    },
    rest: { method: 'GET', path: '/capabilities' },
    errors: [],
    async run(_params, { caller }) {
      // The operator's rights are a rule, not a list of grants.
      const held = CAPABILITIES.map(({ id }) => id).filter((id) => capabilities.holds(caller, id as CapabilityId));
      const granted = await grants.of(caller);
      return { capabilities: CAPABILITIES, holds: granted.length > 0 ? granted : held };
    },
  };
  const refusals: Operation<{ readonly limit: number }, unknown> = {
    name: 'system.refusals',
    summary: 'the last refusals, newest first, and what would grant them',
    description:
      'Each capability of a caller once, with how often. The event system.refused tells that there are more.',
    capability: 'system.logs',
    params: {
      type: 'object',
      properties: { limit: { type: 'integer', minimum: 1, maximum: 256, default: 50 } },
    },
    result: { type: 'object', required: ['refusals'], properties: { refusals: { type: 'array', items: REFUSAL } } },
    cli: {
      command: 'why',
      columns: [
        ['AT', '{ts:time}'],
        ['CALLER', '{caller.kind} {caller.id}'],
        'capability',
        ['TIMES', '{count}'],
        ['GRANT IT WITH', '{hint}'],
        'class',
      ],
      empty: 'nothing has been refused since the Core started',
    },
    rest: { method: 'GET', path: '/refusals' },
    errors: [],
    run: async ({ limit }) => ({ refusals: (await grants.refusals()).slice(0, limit) }),
  };
  return [list, refusals];
}
