import { CoreError, type Scope } from '@device-core/plugin-api';
import { formatTraceparent, type TraceContext } from '@device-core/plugin-api/tracing';
import type { Key } from './key.ts';

export interface CloudSettings {
  readonly endpoint: string;
  readonly model: string;
  readonly rate: 16_000 | 24_000;
  readonly connectMs: number;
  readonly answerMs: number;
  readonly mostSeconds: number;
  /** The host is trusted with the ids of traces. */
  readonly trace: boolean;
}

export interface Parts {
  /** Name of the engine, for messages. */
  readonly name: string;
  readonly scope: Scope;
  readonly settings: CloudSettings;
  readonly key: Key;
}

/** Nothing, unless the SKU trusts the host with it. */
export function traceHeaders(settings: CloudSettings, trace: TraceContext | undefined): Record<string, string> {
  return settings.trace && trace ? { traceparent: formatTraceparent(trace) } : {};
}

/** A signal that is aborted with the caller's, with the scope's, and with SPEECH_FAILED after `ms`. Dispose of it when the work is over. */
export function together(
  { scope, name }: Pick<Parts, 'scope' | 'name'>,
  signal: AbortSignal,
  ms: number,
): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  const cancel = () =>
    stop.abort(new CoreError('CANCELLED', { what: 'the transcription', reason: 'the caller no longer waits' }));
  for (const one of [signal, scope.signal]) {
    one.addEventListener('abort', cancel, { once: true });
    if (one.aborted) cancel();
  }
  const limit = scope.timeout('cloud transcription', ms, () =>
    stop.abort(new CoreError('SPEECH_FAILED', { engine: name, reason: `it did not answer within ${ms} ms` })),
  );
  return {
    signal: stop.signal,
    [Symbol.dispose]() {
      limit[Symbol.dispose]();
      for (const one of [signal, scope.signal]) one.removeEventListener('abort', cancel);
    },
  };
}
