/** The span of one call through the gate: told where it failed, was slow or sampled, or where something was handed on within it. */
import type { Clock, CoreError } from '../../index.ts';
import { codeOf, type Tracer, within } from '../../kits/tracing/tracer.ts';
import type { PendingCall } from './pending-call.ts';

/** A stream that its reader has left did not fail. */
const LEFT = 'CANCELLED';

export function tellCall(tracer: Tracer, clock: Clock, call: PendingCall, error: CoreError | undefined): void {
  const ms = clock.monotonic() - call.began;
  const lasting = call.expires === Number.POSITIVE_INFINITY;
  const failed = error !== undefined && !(lasting && error.code === LEFT);
  const { handedOn, within: parent } = call;
  const inner = parent !== undefined && parent.remote === undefined;
  const due =
    handedOn !== undefined ||
    inner ||
    parent?.sampled ||
    failed ||
    (!lasting && ms >= tracer.operationSlowFrom(call.name));
  if (!due && !(tracer.sample > 0 && !parent)) return;
  const context = handedOn ?? tracer.context(parent);
  tracer.tell({
    ...context,
    name: `operation ${call.name}`,
    began: call.began,
    ms,
    ...within(parent),
    ...(failed && { error: codeOf(error) }),
    ...(lasting && { lasting }),
    attributes: { caller: callerOf(call) },
  });
}

function callerOf({ caller }: PendingCall): string {
  return caller.kind === caller.id ? caller.kind : `${caller.kind}.${caller.id}`;
}
