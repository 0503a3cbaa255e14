/** One queue on the disk: puts become transactions, batches leave it and come back. What touches the file does so one after the other. */
import { type Clock, CoreError, type Logger } from '@device-core/plugin-api';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { Outgoing, Queued } from '@device-core/plugin-api/inside/services/outbox';
import { databaseError, openDatabase, removeAll } from './database.ts';
import { sum } from './loss.ts';
import {
  type Checked,
  checkMessage,
  invalid,
  LOSS_LEVEL,
  MOST_AT_ONCE,
  MOST_BODY,
  priorityOf,
  type Row,
} from './message.ts';
import { type Group, Room } from './room.ts';
import { Store } from './store.ts';
import { type WaitingPut, WaitingPuts } from './waiting-puts.ts';

export interface QueueOptions {
  readonly file: string;
  readonly destination: Checked;
  /** Plugin that opens it. */
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Something waits that did not before. */
  readonly onPut: () => void;
}

/** A message that is on its way. */
export type Flying = Row & { readonly queued: Queued };

export class Queue {
  readonly #options: QueueOptions;
  #store: Store;
  #room: Room;
  /** Puts that no transaction has taken yet. */
  readonly #waiting = new WaitingPuts();
  /** Those of them that a transaction takes now. */
  #keeping: readonly WaitingPut[] = [];
  #pumping = false;
  readonly #turns = new Serial();
  #closed = false;
  /** Messages dropped since the start, by any rule. */
  lost = 0;
  /** Fault of the former file. */
  damage: string | undefined;
  /** The disk did not take the last change. */
  trouble: CoreError | undefined;

  private constructor(options: QueueOptions, store: Store) {
    this.#options = options;
    this.#store = store;
    this.#room = new Room(store, options.destination, options.clock);
  }

  /** Rejects with PARAMS_INVALID where it is another plugin's, STATE_NEWER and the codes of a disk. */
  static async open(options: QueueOptions): Promise<Queue> {
    const { store, damage, dropped } = await openStore(options);
    const queue = new Queue(options, store);
    queue.lost += dropped;
    queue.#damaged(damage);
    return queue;
  }

  get waiting() {
    return this.#store.all;
  }

  get oldestAt(): number | undefined {
    return this.#store.isOpen ? this.#store.oldestAt : undefined;
  }

  /** Throws OUTBOX_FULL, PARAMS_INVALID, the codes of a disk. */
  async putAll(messages: readonly Outgoing[]): Promise<readonly string[]> {
    const { destination } = this.#options;
    if (!Array.isArray(messages) || messages.length > MOST_AT_ONCE)
      throw invalid('messages', `it is no list of at most ${MOST_AT_ONCE}`);
    if (messages.length === 0) return [];
    const checked = messages.map((one) => ({ ...one, bytes: checkMessage(one, destination.limits) }));
    const bytes = checked.reduce((sum, one) => sum + one.bytes, 0);
    if (bytes > destination.limits.bytes || messages.length > destination.limits.messages)
      throw invalid('messages', 'together they are more than the queue may hold');
    if (this.#closed) throw this.#gone();
    const done = this.#waiting.add({ messages: checked, bytes }, destination.id);
    if (!this.#pumping) void this.#pump();
    return done;
  }

  /**
   * The oldest, at most so many and no more bytes than one message may have; they are on their way until land() or
   * end() is called for them.
   */
  take(limit: number): Promise<readonly Flying[]> {
    return this.#next(async () => {
      while (this.#write(() => this.#room.expire()) > 0) await turn();
      const batch: Flying[] = [];
      let bytes = 0;
      for (const row of this.#store.oldest()) {
        if (batch.length >= limit || (batch.length > 0 && bytes + row.bytes > MOST_BODY)) break;
        batch.push({ ...row, queued: this.#queued(row) });
        bytes += row.bytes;
      }
      for (const row of batch) this.#room.fly(row);
      return batch;
    });
  }

  /** They were not taken: they stay. */
  land(batch: readonly Flying[]): Promise<void> {
    return this.#next(() => this.#write(() => this.#room.land(batch)));
  }

  /** Removes a batch; `lost`: it was not delivered, and a receipt reports it. */
  end(batch: readonly Flying[], lost: boolean): Promise<void> {
    return this.#next(() =>
      this.#write(() => {
        const gone = batch.filter((row) => this.#store.delete(row));
        for (const { id } of batch) this.#room.flight.delete(id);
        // A receipt of a receipt that was refused would be refused again, and so on.
        if (lost && gone.some(({ level }) => level !== LOSS_LEVEL)) this.#room.drop(gone);
        this.#room.land([]);
      }),
    );
  }

  /**
   * Nothing that waits is left, not even in the blocks of the file. What was put before and is on no disk yet is
   * rejected with CANCELLED.
   */
  clear(): Promise<number> {
    const unkept = this.#withdraw();
    return this.#next(async () => {
      const { count } = this.#store.all;
      const { file } = this.#options;
      await this.#store.end();
      try {
        await removeAll(file);
      } finally {
        await this.#reopen();
      }
      return count + unkept;
    });
  }

  /** How many messages no transaction has taken. */
  #withdraw(): number {
    const groups = this.#waiting.all;
    const unkept = groups.filter((group) => !this.#keeping.includes(group));
    this.#waiting.settle(
      groups,
      new CoreError('CANCELLED', { what: 'a put', reason: 'waiting entries are thrown away' }),
    );
    return unkept.reduce((sum, { messages }) => sum + messages.length, 0);
  }

  /** Closes the queue after earlier messages are kept. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waiting.size > 0 || this.#pumping) await this.#next(() => undefined).then(turn);
    await this.#next(() => this.#store.end());
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    // Other messages of this turn come into the same transaction.
    await turn();
    try {
      while (this.#waiting.size > 0) {
        const groups = this.#waiting.step();
        this.#keeping = groups;
        await this.#next(() => this.#keep(groups)).catch((error) => this.#waiting.settle(groups, error));
        this.#keeping = [];
        if (this.#waiting.size > 0) await turn();
      }
    } finally {
      this.#pumping = false;
    }
    if (this.#store.all.count > 0) this.#options.onPut();
  }

  async #keep(groups: readonly WaitingPut[]): Promise<void> {
    const outcomes = this.#write(() => {
      this.#room.expire();
      const admitted: (readonly string[] | CoreError)[] = [];
      for (const group of groups) {
        const outcome = this.#admit(group);
        if (outcome === 'more') break; // the rest comes in its turn
        admitted.push(outcome);
      }
      return admitted;
    });
    if (this.#options.destination.durability === 'full') await this.#synced();
    for (const [index, outcome] of outcomes.entries()) this.#waiting.settle([groups[index]!], outcome);
  }

  #admit(group: Group): readonly string[] | CoreError | 'more' {
    try {
      const ids = this.#room.admit(group);
      return ids === 'more' ? ids : ids.map((id) => this.#text(id));
    } catch (error) {
      if (error instanceof CoreError) return error;
      throw error;
    }
  }

  async #synced(): Promise<void> {
    try {
      await this.#store.sync();
    } catch (error) {
      this.trouble = databaseError(this.#options.file, error);
      throw this.trouble;
    }
  }

  /** One transaction. Throws the codes of a disk, and STATE_CORRUPT. */
  #write<T>(work: () => T): T {
    const room = this.#room;
    const told = room.told;
    try {
      const result = this.#store.transaction(work);
      this.trouble = undefined;
      const lost = room.takeLost();
      this.lost += lost;
      if (lost > 0 && !told)
        this.#options.log.warn(this.#named({ lost }), 'messages are dropped; a receipt counts them');
      return result;
    } catch (error) {
      room.recall();
      this.trouble = databaseError(this.#options.file, error);
      throw this.trouble;
    }
  }

  /** Runs `work` after all earlier work on the file. A damaged file is set aside, and the work runs once more on a new one. */
  #next<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      try {
        if (!this.#store.isOpen && !this.#closed) await this.#reopen();
        return await work();
      } catch (error) {
        const known = databaseError(this.#options.file, error);
        if (known.code !== 'STATE_CORRUPT') throw known;
        await this.#replace(known);
        return await work();
      }
    });
  }

  async #reopen(broken?: CoreError): Promise<void> {
    const { store, damage } = await openStore(this.#options, broken);
    this.#store = store;
    this.#room = new Room(store, this.#options.destination, this.#options.clock);
    this.#damaged(damage);
  }

  async #replace(broken: CoreError): Promise<void> {
    const { counts, bytes } = this.#store;
    const known = [...counts.entries()].filter(([level, count]) => level !== LOSS_LEVEL && count > 0);
    const at = Math.round(this.#options.clock.now());
    const losses = known.map(([level, lost]) => ({
      lost,
      bytes: bytes[level]!,
      from: at,
      to: at,
      counts: { [priorityOf(level)]: lost },
    }));
    await this.#store.end();
    await this.#reopen(broken);
    const loss = sum(losses);
    if (!loss) return;
    this.#write(() => this.#room.lose(loss));
    this.lost += loss.lost;
  }

  #damaged(damage: string | undefined): void {
    if (damage === undefined) return;
    this.damage = damage;
    this.#options.log.error(this.#named({ damage }), 'a queue was damaged: what waited in it is not sent');
  }

  #named(more: object): object {
    return { destination: this.#options.destination.id, ...more };
  }

  #gone(): CoreError {
    const { id } = this.#options.destination;
    return new CoreError('OUTBOX_FULL', { what: 'a message', to: id, reason: 'the queue is closed' });
  }

  #text(id: number): string {
    return `${this.#store.epoch}-${id}`;
  }

  #queued({ id, level, at, what, key, body }: Row): Queued {
    const own = {
      id: this.#text(id) + (level === LOSS_LEVEL ? '-loss' : ''),
      at,
      priority: priorityOf(level),
      what,
      body,
    };
    return key === null ? own : { ...own, key };
  }
}

async function openStore(options: QueueOptions, broken?: CoreError) {
  const { file, owner, destination, log } = options;
  const { store, damage } = await ownStore(options, broken);
  if (store.to === undefined || store.to === destination.to) {
    store.claim(owner, destination.to);
    return { store, damage, dropped: 0 };
  }
  // Messages for another receiver must not go to this one.
  const { count: dropped } = store.messages;
  await store.end();
  await removeAll(file);
  const { store: empty } = await ownStore(options);
  empty.claim(owner, destination.to);
  if (dropped > 0)
    log.warn(
      { destination: destination.id, former: store.to, to: destination.to, messages: dropped },
      'messages for another receiver were dropped',
    );
  return { store: empty, damage, dropped };
}

/** Throws PARAMS_INVALID where it belongs to another plugin. */
async function ownStore({ file, clock, owner, destination }: QueueOptions, broken?: CoreError) {
  let store: Store | undefined;
  const { damage } = await openDatabase(
    file,
    (database) => {
      store = new Store(file, database, Math.round(clock.steady()));
      if (store.owner !== undefined && store.owner !== owner)
        throw invalid('id', `plugin ${store.owner} has destination ${destination.id}`);
    },
    broken,
  );
  return { store: store!, damage };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
