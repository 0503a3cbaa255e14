import type { EventEnvelope } from './events.ts';

/** The first message on an app socket (specification, decisions D9). */
export interface ReadyMessage {
  readonly session: string;
  readonly app: string;
  readonly core: { readonly version: string; readonly api: string };
  /** Capabilities of the app, declared and granted. */
  readonly capabilities: readonly string[];
  /** Each filter of the manifest; `reason` says why one was refused. */
  readonly subscriptions: readonly { readonly filter: string; readonly accepted: boolean; readonly reason?: string }[];
  /** `connections`, `lineBytes`, `attachmentBytes`, `batch`, `inFlight`, `streams`, `streamCredit`. */
  readonly limits: Readonly<Record<string, number>>;
  /** Latest envelope of each retained topic that the app subscribes to. */
  readonly snapshot: Readonly<Record<string, EventEnvelope>>;
}

/** `meta` of a call into an app. */
export interface CallMeta {
  readonly callId: string;
  readonly version: string;
  /** Milliseconds left when the call was sent; relative, so that clocks need not agree. */
  readonly deadlineMs: number;
  /** `app.<id>`, `operator` or `plugin.<id>`. */
  readonly caller: string;
  readonly idempotencyKey?: string;
  /** W3C Trace Context, where the call belongs to a trace. Handed back in `meta` of the app's own requests it makes them a part of it. */
  readonly traceparent?: string;
}
