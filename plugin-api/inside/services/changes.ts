/**
 * Changes that take long or can be undone (decisions D5, D15): steps with do and undo, recorded before they run. One service for plugins,
 * apps, updates and images; the plugin that does the work makes the change, this service keeps the record, the order and the answers.
 */
import type { ChangeState } from '../../contract/change-state.ts';
import { serviceRef } from '../../contract/service-ref.ts';

export { CHANGE_STATES, type ChangeState } from '../../contract/change-state.ts';

/** JSON, kept in the record (0600) and never shown. Two members are: `result` at the end, `note` meanwhile. */
export type ChangeData = Readonly<Record<string, unknown>>;

export interface ChangeStep {
  readonly name: string;
  /** Work of the step, in words for a waiting person: `unpacking`. */
  readonly summary: string;
}

/** A kind of change, and who makes it. `perform` and `undo` are idempotent: a step that was cut off is done, or undone, once more. */
export interface ChangeMaker {
  /** The operation that begins it, `plugins.install`. */
  readonly kind: string;
  /** Capability that shows such changes; the user who began one sees it, too. */
  readonly capability: string;
  readonly steps: readonly ChangeStep[];
  /** Before this step is done a change that was cut off is undone at the next start, after it the change goes on. */
  readonly commit: string;
  /** Does a step; resolves with what later steps need, which is durable before they run. A rejection undoes the change. */
  perform(step: string, data: ChangeData, change: string): Promise<ChangeData>;
  /** Takes a step back, whether it was done, begun, or had only been announced. */
  undo(step: string, data: ChangeData, change: string): Promise<void>;
}

export interface ChangeRequest {
  readonly kind: string;
  /** Changes of one subject are made one after the other. */
  readonly subject: string;
  /** One line for people: `install /tmp/chime.tgz`. */
  readonly summary: string;
  readonly data: ChangeData;
  /** Caller that began it, as `callerName` writes it. */
  readonly by: string;
}

export interface ChangeInfo {
  readonly id: string;
  readonly kind: string;
  readonly capability: string;
  readonly subject: string;
  readonly summary: string;
  readonly by: string;
  readonly state: ChangeState;
  readonly steps: readonly (ChangeStep & { readonly state: ChangeState })[];
  /** Steps that are done, of how many. */
  readonly progress: { readonly done: number; readonly of: number; readonly note?: string };
  /** Why it failed. */
  readonly error?: { readonly code: string; readonly message: string; readonly details?: ChangeData };
  readonly result?: ChangeData;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  readonly endedAt?: number;
}

/** Keeps what takes long or can be undone, over restarts of its makers and of the Core. */
export interface Changes {
  /** Makes changes of its kind from now on, those first that were cut off. Disposing leaves the one under way for the next maker. */
  serve(maker: ChangeMaker): Disposable;
  /** Resolves with its id when it is recorded; get() gives the outcome. Throws BUSY, UNAVAILABLE, and the codes of a disk. */
  begin(request: ChangeRequest): Promise<string>;
  /** Throws CHANGE_NOT_FOUND. */
  get(id: string): Promise<ChangeInfo>;
  /** The newest first; as many as are kept. */
  list(): Promise<readonly ChangeInfo[]>;
}

export const changes = serviceRef<Changes>('changes', '1.0.0', 'tree');
