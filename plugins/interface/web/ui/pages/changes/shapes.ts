/** Answer of the Core about a change that takes long or can be undone. Times are milliseconds since the Unix epoch. */
export interface Change {
  readonly id: string;
  /** The operation that began it. */
  readonly kind: string;
  readonly subject: string;
  readonly summary: string;
  readonly by: string;
  readonly state: ChangeState;
  readonly steps: readonly { readonly name: string; readonly summary: string; readonly state: ChangeState }[];
  readonly progress: { readonly done: number; readonly of: number; readonly note?: string };
  readonly error?: {
    readonly code: string;
    readonly message: string;
    readonly details?: Readonly<Record<string, unknown>>;
  };
  readonly startedAt: number;
  readonly endedAt?: number;
}
export type ChangeState = 'waiting' | 'doing' | 'done' | 'undoing' | 'undone' | 'failed';
