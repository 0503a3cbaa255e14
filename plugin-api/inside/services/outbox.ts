/** The one door through which something leaves the device: a queue on disk for each destination, and the ledger before each sending. */
import type { Priority } from '../../contract/events.ts';
import { serviceRef } from '../../contract/service-ref.ts';

export interface Destination {
  /** Its name and that of its file: `telemetry`, `logs`. */
  readonly id: string;
  /** The part in the ledger: `telemetry`, `voice`. */
  readonly part: string;
  /** Host and port, as the ledger has it. */
  readonly to: string;
  /**
   * Limits of the queue while the destination takes nothing; beyond them low messages go first, then normal ones, the
   * oldest of each. A message never displaces a more important one: it is refused where only such wait.
   */
  readonly limits?: { readonly bytes?: number; readonly messages?: number; readonly ageMs?: number };
  /**
   * `full`: each put is on the disk when it resolves, power cuts included. `normal`: a killed Core loses none, a power
   * cut the last moments.
   */
  readonly durability?: 'normal' | 'full';
  /** Messages of one call of `send`, 1 MiB of bodies at most; 50 if absent. */
  readonly batch?: number;
}

export interface Outgoing {
  readonly priority: Priority;
  /** Category of the message, as the ledger has it: `metrics`, `logs`. */
  readonly what: string;
  readonly body: string;
  /** Only the newest of a key is kept. */
  readonly key?: string;
}

export interface Queued extends Outgoing {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

/** Outcome of a batch. Any thrown error means `later`. */
export type Sent =
  | { readonly outcome: 'taken' }
  /**
   * Again, after so long or after the queue's own back-off. `unsent`: it is certain that nothing left the device, so no
   * bytes are counted.
   */
  | { readonly outcome: 'later'; readonly reason: string; readonly afterMs?: number; readonly unsent?: true }
  /** They will never be taken: thrown away, counted, told. */
  | { readonly outcome: 'refused'; readonly reason: string }
  /** Too much at once: halves of it are tried; a single one is refused. */
  | { readonly outcome: 'too-large' };

/**
 * One message in the place of those that were dropped: `body` of a message whose `what` is `loss`, JSON. One that was
 * not taken may come again with larger counts: of an id the newest counts.
 */
export interface OutboxLoss {
  readonly lost: number;
  readonly bytes: number;
  /** When the first and the last of them were put, milliseconds since the Unix epoch. */
  readonly from: number;
  readonly to: number;
  readonly counts: Readonly<Partial<Record<Priority, number>>>;
}

export interface QueueState {
  readonly id: string;
  readonly to: string;
  readonly waiting: number;
  readonly bytes: number;
  readonly sent: number;
  readonly lost: number;
  readonly oldestAt?: number;
  /** Why the last attempt failed, and when the next one is made. */
  readonly trouble?: { readonly reason: string; readonly nextAt: number };
}

export interface OutboxQueue extends AsyncDisposable {
  /**
   * The id of the message, when it is kept as `durability` says. Throws OUTBOX_FULL, PARAMS_INVALID, CANCELLED by a
   * clear(), the codes of a disk.
   */
  put(message: Outgoing): Promise<string>;
  /** At most 1,000: all of them or none, by the rule of the least important one. */
  putAll(messages: readonly Outgoing[]): Promise<readonly string[]>;
  /** Throws away what waits and is on its way, as withdrawn consent asks for; answers with how many they were. */
  clear(): Promise<number>;
  state(): Promise<QueueState>;
}

export interface Outbox {
  /**
   * Opens a queue and first sends its earlier messages, the oldest first, at least once: the receiver tells doubles by
   * their `id`. The queue stops with the plugin that opened it; waiting messages stay, for that plugin and for `to`
   * alone: another plugin is refused, and with another `to` the queue begins empty. Throws PARAMS_INVALID, STATE_NEWER,
   * the codes of a disk.
   */
  open(
    destination: Destination,
    send: (batch: readonly Queued[], signal: AbortSignal) => Promise<Sent>,
  ): Promise<OutboxQueue>;
  list(): Promise<readonly QueueState[]>;
}

export const outbox = serviceRef<Outbox>('outbox', '1.0.0', 'tree');
