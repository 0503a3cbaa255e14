/** Puts that no transaction has taken yet: a bounded list, whose head goes into the next transaction. */
import { CoreError } from '@device-core/plugin-api';
import type { Group } from './room.ts';

/** Limits of one transaction, and of the messages that wait for one. */
const STEP = { messages: 256, bytes: 256 * 1024 };
const MOST_WAITING = { messages: 20_000, bytes: 4 * 1024 * 1024 };

export interface WaitingPut extends Group {
  readonly done: PromiseWithResolvers<readonly string[]>;
}

export class WaitingPuts {
  readonly #puts: WaitingPut[] = [];
  readonly #waits = { messages: 0, bytes: 0 };

  get size(): number {
    return this.#puts.length;
  }

  get all(): readonly WaitingPut[] {
    return [...this.#puts];
  }

  /** Resolves when the put is kept. Throws OUTBOX_FULL. */
  add(group: Group, to: string): Promise<readonly string[]> {
    const { messages, bytes } = group;
    const [most, more] = [MOST_WAITING, this.#waits];
    if (more.messages > 0 && (more.messages + messages.length > most.messages || more.bytes + bytes > most.bytes)) {
      const reason = `${more.messages} wait for the disk already`;
      throw new CoreError('OUTBOX_FULL', { what: messages[0]!.what, to, reason });
    }
    const done = Promise.withResolvers<readonly string[]>();
    this.#puts.push({ ...group, done });
    more.messages += messages.length;
    more.bytes += bytes;
    return done.promise;
  }

  /** Those that come first, as many as one transaction takes. */
  step(): readonly WaitingPut[] {
    let [count, messages, bytes] = [0, 0, 0];
    for (const group of this.#puts) {
      messages += group.messages.length;
      bytes += group.bytes;
      if (count > 0 && (messages > STEP.messages || bytes > STEP.bytes)) break;
      count += 1;
    }
    return this.#puts.slice(0, count);
  }

  settle(groups: readonly WaitingPut[], outcome: readonly string[] | Error): void {
    for (const group of groups) {
      const [first] = this.#puts;
      if (first !== group) continue; // settled before the disk failed
      this.#puts.shift();
      this.#waits.messages -= group.messages.length;
      this.#waits.bytes -= group.bytes;
      if (outcome instanceof Error) group.done.reject(outcome);
      else group.done.resolve(outcome);
    }
  }
}
