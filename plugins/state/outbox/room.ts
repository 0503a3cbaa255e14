/** Changes of a queue in one transaction: messages that come in, messages that give way, and the receipt for those. */
import type { Clock } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import type { OutboxLoss, Outgoing } from '@device-core/plugin-api/inside/services/outbox';
import { lossOf, readLoss, sum } from './loss.ts';
import { type Checked, GIVES_WAY, LEVEL, LOSS, LOSS_LEVEL } from './message.ts';
import type { Store, Victim } from './store.ts';

/** Messages of one put or putAll: all of them or none. */
export interface Group {
  readonly messages: readonly (Outgoing & { readonly bytes: number })[];
  readonly bytes: number;
}

/** So many go at most in one transaction: the event loop is for others, too. */
const MOST_DROPPED = 256;

interface Receipt {
  readonly id: number;
  readonly bytes: number;
  readonly loss: OutboxLoss;
}

export class Room {
  readonly #store: Store;
  readonly #destination: Checked;
  readonly #clock: Clock;
  /** Rows that are on their way: they stay until it is known what became of them. */
  readonly flight = new Map<number, Victim>();
  /** The one receipt that can still grow. */
  #receipt: Receipt | undefined;
  #lost = 0;

  constructor(store: Store, destination: Checked, clock: Clock) {
    this.#store = store;
    this.#destination = destination;
    this.#clock = clock;
    store.transaction(() => this.#gather());
  }

  /** A transaction was undone: what is known of the receipt is as it was before. */
  recall(): void {
    this.#lost = 0;
    const [first] = this.#receipts();
    const loss = first && readLoss(first.body);
    this.#receipt = loss && { id: first.id, bytes: first.bytes, loss };
  }

  /** Within a transaction. The ids of the group; `more` where others had to go first, and more have to. Throws OUTBOX_FULL. */
  admit(group: Group): readonly number[] | 'more' {
    const { limits, id: to } = this.#destination;
    const level = Math.min(...group.messages.map(({ priority }) => LEVEL[priority]));
    const replaced = this.#replacing(group);
    const { count, bytes } = this.#store.messages;
    const over = {
      count: count - replaced.length + group.messages.length - limits.messages,
      bytes: bytes - sumOf(replaced) + group.bytes - limits.bytes,
    };
    if (over.count > 0 || over.bytes > 0) {
      const room = this.#givingWay(level, replaced);
      if (room.count < over.count || room.bytes < over.bytes) {
        const what = group.messages.length === 1 ? group.messages[0]!.what : `${group.messages.length} messages`;
        const reason = `${count} wait, and none of them is less important`;
        throw new CoreError('OUTBOX_FULL', { what, to, reason });
      }
      if (!this.#evict(level, over, new Set(replaced.map(({ id }) => id)))) return 'more';
    }
    for (const row of replaced) this.#store.delete(row);
    return this.#insert(group);
  }

  /** Those that are too old, a bounded number of them. */
  expire(): number {
    const old = this.#store.before(this.#clock.steady() - this.#destination.limits.ageMs, MOST_DROPPED);
    const gone = old.filter(({ id }) => !this.flight.has(id));
    for (const row of gone) this.#store.delete(row);
    this.drop(gone);
    return gone.length;
  }

  /** One receipt in the place of those that went, which are no more there. */
  drop(gone: readonly (Victim & { readonly body?: string })[]): void {
    this.#lost += gone.filter(({ level }) => level !== LOSS_LEVEL).length;
    const loss = sum(
      gone.flatMap((row) => (row.level === LOSS_LEVEL ? (readLoss(row.body ?? '') ?? []) : lossOf(row))),
    );
    if (loss) this.lose(loss, Math.min(...gone.map(({ id }) => id)));
  }

  /** `place`: of the first that went; the end, if absent. */
  lose(loss: OutboxLoss, place = this.#store.number()): void {
    const known = this.#receipt;
    const id = known ? Math.min(known.id, place) : place;
    const all = sum(known ? [known.loss, loss] : [loss])!;
    const body = JSON.stringify(all);
    const since = Math.round(this.#clock.steady());
    const row = { id, level: LOSS_LEVEL, at: all.from, since, body, bytes: body.length };
    if (known?.id === id) this.#store.replace(row, known.bytes);
    else {
      if (known) this.#store.delete({ ...known, level: LOSS_LEVEL });
      this.#store.insert({ ...row, what: LOSS, key: null });
    }
    this.#receipt = { id, bytes: body.length, loss: all };
  }

  /** A receipt that is on its way grows no more. */
  fly(row: Victim): void {
    this.flight.set(row.id, row);
    if (row.id === this.#receipt?.id) this.#receipt = undefined;
  }

  /** Returns messages from flight to the queue; one with a newer message of its key is deleted, and receipts are merged. */
  land(rows: readonly (Victim & { readonly key: string | null; readonly body: string })[]): void {
    for (const row of rows) {
      this.flight.delete(row.id);
      const newer = row.key !== null && this.#store.ofKey(row.key).some(({ id }) => id > row.id);
      if (newer) this.#store.delete(row);
    }
    this.#gather();
  }

  /** Dropped since the last call. */
  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  /** There is a receipt that can grow. */
  get told(): boolean {
    return this.#receipt !== undefined;
  }

  #receipts() {
    return this.#store.losses().filter(({ id }) => !this.flight.has(id));
  }

  /** Makes one receipt of those that are there. */
  #gather(): void {
    const receipts = this.#receipts();
    const loss = sum(receipts.flatMap(({ body }) => readLoss(body) ?? []));
    const [first] = receipts;
    if (first && loss && receipts.length === 1) this.#receipt = { id: first.id, bytes: first.bytes, loss };
    else {
      this.#receipt = undefined;
      for (const row of receipts) this.#store.delete(row);
      if (first && loss) this.lose(loss, first.id);
    }
  }

  /** Messages that the group replaces, also within it: the last one of a key stays. */
  #replacing({ messages }: Group): readonly Victim[] {
    const keys = new Set(messages.flatMap(({ key }) => key ?? []));
    return [...keys].flatMap((key) => this.#store.ofKey(key).filter(({ id }) => !this.flight.has(id)));
  }

  #givingWay(level: number, replaced: readonly Victim[]) {
    const last = Math.min(level <= GIVES_WAY ? level : level - 1, LEVEL.high);
    const stays = [...this.flight.values(), ...replaced].filter((row) => row.level <= last);
    let [count, bytes] = [-stays.length, -sumOf(stays)];
    for (let one = 0; one <= last; one++) {
      count += this.#store.counts[one]!;
      bytes += this.#store.bytes[one]!;
    }
    return { count, bytes };
  }

  /** False where not enough could go at once. */
  #evict(level: number, over: { count: number; bytes: number }, replaced: ReadonlySet<number>): boolean {
    const last = Math.min(level <= GIVES_WAY ? level : level - 1, LEVEL.high);
    const gone: Victim[] = [];
    let { count, bytes } = over;
    for (let one = 0; one <= last; one++)
      for (const row of this.#store.ofLevel(one)) {
        if ((count <= 0 && bytes <= 0) || gone.length >= MOST_DROPPED) break;
        if (this.flight.has(row.id) || replaced.has(row.id)) continue;
        gone.push(row);
        count -= 1;
        bytes -= row.bytes;
      }
    for (const row of gone) this.#store.delete(row);
    this.drop(gone);
    return gone.length < MOST_DROPPED || (count <= 0 && bytes <= 0);
  }

  #insert({ messages }: Group): readonly number[] {
    const [at, since] = [Math.round(this.#clock.now()), Math.round(this.#clock.steady())];
    const newest = new Map(messages.flatMap(({ key }, index) => (key === undefined ? [] : [[key, index] as const])));
    return messages.map(({ priority, what, body, key, bytes }, index) => {
      const id = this.#store.number();
      const kept = key === undefined || newest.get(key) === index;
      if (kept) this.#store.insert({ id, level: LEVEL[priority], at, since, what, key: key ?? null, body, bytes });
      return id;
    });
  }
}

function sumOf(rows: readonly { readonly bytes: number }[]): number {
  return rows.reduce((bytes, row) => bytes + row.bytes, 0);
}
