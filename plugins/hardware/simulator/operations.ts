/** The table of controls as operations, and what can be seen of the device. */
import { type CallContext, maybe } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation, ServerSentEvent } from '@device-core/plugin-api/services/operations';
import { CONTROLS, type Control } from './controls.ts';
import type { Params, SimulatedDevice } from './device.ts';
import type { Stage } from './stage.ts';

/** Capability to wire the device: its senses are no business of apps. */
export const CAPABILITY = 'system.bridge';
const OBJECT = { type: 'object' } as const;

export interface ControlParts {
  readonly simulated: SimulatedDevice;
  readonly stage: Stage;
  /** Called when there is something new to be seen. */
  readonly watchers: Set<() => void>;
}

export function controlOperations(parts: ControlParts): readonly Operation<never, unknown>[] {
  const rows = [...CONTROLS.map((control) => ofControl(control, parts)), stateOperation(parts), watchOperation(parts)];
  return rows as unknown as readonly Operation<never, unknown>[];
}

function ofControl(control: Control, { simulated, stage }: ControlParts): Operation<Params, object> {
  const { id, summary, description, params, required, cli, reads, bodyLimit } = control;
  const path = `/sim/${id}`;
  return {
    name: `sim.${id}`,
    summary,
    ...maybe({ description }),
    capability: CAPABILITY,
    params: exactly(params, required),
    result: reads ? OBJECT : exactly({}),
    rest: { ...(reads ? { method: 'GET', path } : { method: 'POST', path }), ...(bodyLimit && { bodyLimit }) },
    ...(cli && { cli: required.length > 0 ? { fixed: required, ...cli } : cli }),
    ...(control.operation && { timeoutMs: 60_000 }),
    errors: ['PARAMS_INVALID', 'UNAVAILABLE', 'TIMEOUT', 'BUSY', ...more(control)],
    async run(given, { caller, signal, deadline }) {
      const answer = await simulated.run(control, given, { caller, signal, deadline });
      if (reads) return answer;
      stage.did(`sim.${id}`, given);
      return {};
    },
  };
}

/** Errors of the operation behind a control, beyond those of all. */
function more({ operation, id }: Control): Operation['errors'] {
  if (id === 'hear') return ['AUDIO_UNAVAILABLE', 'METHOD_NOT_FOUND', 'CAPABILITY_DENIED'];
  return operation || id === 'heal' ? ['CANCELLED', 'METHOD_NOT_FOUND', 'CAPABILITY_DENIED'] : [];
}

async function stateOf({ simulated, stage }: ControlParts): Promise<object> {
  const bridge = await simulated.view();
  const { network, power, time, unplugged } = simulated.surroundings;
  return {
    ...maybe({ bridge, network, power, time }),
    panel: { plugged: !unplugged },
    scenario: stage.view,
  };
}

const STATE = exactly(
  {
    bridge: { ...OBJECT, description: 'absent while the simulator of the bridge is not there' },
    network: { ...OBJECT, description: 'absent: not known yet' },
    power: { ...OBJECT, description: 'absent: not known yet' },
    time: { ...OBJECT, description: 'absent: not known yet' },
    panel: exactly({ plugged: { type: 'boolean' } }),
    scenario: { ...OBJECT, description: '`recording`, `playing`, and the `last` one with its result' },
  },
  ['panel', 'scenario'],
);

function stateOperation(parts: ControlParts): Operation<object, object> {
  return {
    name: 'sim.state',
    summary: 'The present value of every control of the simulated device',
    capability: CAPABILITY,
    params: exactly({}),
    result: STATE,
    rest: { method: 'GET', path: '/sim' },
    errors: ['TIMEOUT', 'BUSY'],
    run: () => stateOf(parts),
  };
}

function watchOperation(parts: ControlParts): Operation<object, ServerSentEvent> {
  return {
    name: 'sim.watch',
    summary: 'Follow the state of the simulated device',
    description: 'The state at once and after each change; of simultaneous changes the last is sent.',
    capability: CAPABILITY,
    params: exactly({}),
    result: exactly({ event: { const: 'state' }, data: STATE }),
    rest: { method: 'GET', path: '/sim/watch', sse: true },
    errors: ['TIMEOUT', 'BUSY'],
    run: (_, call) => watch(parts, call),
  };
}

async function* watch(parts: ControlParts, { signal }: CallContext): AsyncGenerator<ServerSentEvent> {
  let news = Promise.withResolvers<void>();
  const wake = () => news.resolve();
  using _bridge = parts.simulated.watch();
  parts.watchers.add(wake);
  signal.addEventListener('abort', wake, { once: true });
  try {
    while (!signal.aborted) {
      news = Promise.withResolvers();
      yield { event: 'state', data: await stateOf(parts) };
      await news.promise;
    }
  } finally {
    parts.watchers.delete(wake);
    signal.removeEventListener('abort', wake);
  }
}
