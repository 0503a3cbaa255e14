/** The service: a queue for each destination, opened by one plugin at a time. */
import { join } from 'node:path';
import {
  FOR_USER,
  isNewer,
  type Logger,
  maybe,
  reasonOf,
  type Scope,
  type ServesEachUser,
  type ServiceUser,
} from '@device-core/plugin-api';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';
import type {
  Destination,
  Outbox,
  OutboxQueue,
  Outgoing,
  QueueState,
} from '@device-core/plugin-api/inside/services/outbox';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { ENDING, filesIn, lookAt } from './database.ts';
import { type Checked, checkDestination, invalid, type Limits } from './message.ts';
import { Queue } from './queue.ts';
import { type Send, Sender } from './sender.ts';

export interface OutboxesOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly folder: string;
  /** Default limits of a destination. */
  readonly usual: Limits & { readonly batch: number };
  readonly sendMs: number;
  /** Destinations, open or not. */
  readonly most: number;
  readonly random?: () => number;
}

interface Open extends AsyncDisposable {
  readonly owner: string;
  readonly destination: Checked;
  readonly queue: Queue;
  readonly sender: Sender;
}

type User = Pick<ServiceUser, 'plugin'> & Partial<Pick<ServiceUser, 'measured'>>;

export class Outboxes implements ServesEachUser<Outbox> {
  readonly #options: OutboxesOptions;
  readonly #open = new Map<string, Open>();
  /** Opening and closing of one destination wait for each other. */
  readonly #turns = new Serial();
  #ledger: DeparturesLedger | undefined;
  #offline = false;
  /** Reports of files in newer forms, found without opening them. */
  #newer: readonly string[] = [];

  constructor(options: OutboxesOptions) {
    this.#options = options;
    options.scope.defer('queues', async () => {
      await Promise.all([...this.#open.values()].map((one) => one[Symbol.asyncDispose]()));
    });
  }

  [FOR_USER](user: ServiceUser): Outbox {
    return this.view(user);
  }

  view(user: User): Outbox {
    return { open: (destination, send) => this.#add(user, destination, send), list: async () => this.states() };
  }

  /** Looks for queues of former runs without opening them. */
  async look(): Promise<void> {
    const { folder, log } = this.#options;
    try {
      const found = await Promise.all((await filesIn(folder)).map(lookAt));
      this.#newer = found.flatMap((one) => (isNewer(one) ? [one.message] : []));
    } catch (error) {
      log.error({ folder, reason: reasonOf(error) }, 'cannot look for queues'); // opening one reports the error again
    }
  }

  useLedger(ledger: DeparturesLedger, part: Scope): void {
    this.#ledger = ledger;
    for (const { sender } of this.#open.values()) sender.retry();
    part.defer('ledger', () => {
      if (this.#ledger === ledger) this.#ledger = undefined;
    });
  }

  network(offline: boolean): void {
    this.#offline = offline;
    for (const { sender } of this.#open.values()) sender.connected(offline);
  }

  states(): readonly QueueState[] {
    return [...this.#open.values()].map(stateOf);
  }

  /** The next attempt is made now. Throws PARAMS_INVALID. */
  retry(id: string): QueueState {
    const open = this.#find(id);
    open.sender.retry();
    return stateOf(open);
  }

  /** Throws PARAMS_INVALID and the codes of a disk. */
  clear(id: string): Promise<number> {
    return clear(this.#find(id));
  }

  /** A plugin has stopped. */
  async gone(plugin: string): Promise<void> {
    const own = [...this.#open.values()].filter(({ owner }) => owner === plugin);
    await Promise.all(own.map((one) => one[Symbol.asyncDispose]()));
  }

  tell(report: HealthReport): void {
    for (const message of this.#newer) report.warn('STATE_NEWER', message);
    for (const [id, { queue, sender, destination }] of this.#open) {
      if (queue.damage !== undefined) report.warn('STATE_CORRUPT', queue.damage);
      const { count, bytes } = queue.waiting;
      const lost = queue.lost > 0 ? `; ${queue.lost} were dropped` : '';
      const message = `${count} messages (${bytes} bytes) wait for ${destination.to}${lost}`;
      const trouble = queue.trouble ?? sender.trouble;
      if (queue.trouble || (count > 0 && sender.trouble?.code !== undefined)) {
        const reason = queue.trouble?.message ?? sender.trouble!.reason;
        report.add(`outbox.${id}`, {
          status: 'error',
          code: queue.trouble?.code ?? sender.trouble!.code!,
          message: `${message}: ${reason}`,
        });
      } else if (sender.offline && count > 0)
        report.add(`outbox.${id}`, { status: 'waiting', message: `${message}: the device is offline` });
      else if (trouble && count > 0)
        report.add(`outbox.${id}`, { status: 'waiting', message: `${message}: ${sender.trouble!.reason}` });
      else report.add(`outbox.${id}`, { status: 'okay', message });
    }
  }

  #find(id: string): Open {
    const open = this.#open.get(id);
    if (!open) throw invalid('id', `there is no destination ${JSON.stringify(id)} that is open`);
    return open;
  }

  async #add(user: User, given: Destination, send: Send): Promise<OutboxQueue> {
    const destination = checkDestination(given, this.#options.usual);
    if (typeof send !== 'function') throw invalid('send', 'it is no function');
    const opening = await this.#turns.run(async () => {
      const before = this.#open.get(destination.id);
      if (before && before.owner !== user.plugin)
        throw invalid('id', `plugin ${before.owner} has destination ${destination.id}`);
      await before?.[Symbol.asyncDispose]();
      return this.#start(user, destination, send);
    });
    return new Handle(opening);
  }

  async #start(user: User, destination: Checked, send: Send): Promise<Open> {
    const { scope: whole, log, folder, sendMs, most, random } = this.#options;
    const { id } = destination;
    const file = join(folder, id + ENDING);
    const others = new Set([...(await filesIn(folder)), file]);
    if (others.size > most) throw invalid('id', `there are ${most} destinations already`);
    const scope = whole.child(`destination ${id}`);
    try {
      const queue = await Queue.open({
        file,
        destination,
        owner: user.plugin,
        clock: scope.clock,
        log,
        onPut: () => sender.wake(),
      });
      const measured = user.measured?.('event', send) ?? send;
      const sender: Sender = new Sender(queue, {
        scope,
        log,
        destination,
        owner: user.plugin,
        send: measured,
        sendMs,
        ledger: () => this.#ledger,
        ...maybe({ random }),
      });
      const open: Open = {
        owner: user.plugin,
        destination,
        queue,
        sender,
        [Symbol.asyncDispose]: once(async () => {
          await scope[Symbol.asyncDispose]();
          await queue.close();
          if (this.#open.get(id) === open) this.#open.delete(id);
        }),
      };
      this.#open.set(id, open);
      sender.connected(this.#offline);
      sender.wake();
      return open;
    } catch (error) {
      await scope[Symbol.asyncDispose]();
      throw error;
    }
  }
}

/** Queue as the plugin gets it: a class, so that its methods cross a border. */
class Handle implements OutboxQueue {
  readonly #open: Open;

  constructor(open: Open) {
    this.#open = open;
  }

  async put(message: Outgoing): Promise<string> {
    const [id] = await this.#open.queue.putAll([message]);
    return id!;
  }

  async putAll(messages: readonly Outgoing[]): Promise<readonly string[]> {
    return this.#open.queue.putAll(messages);
  }

  async clear(): Promise<number> {
    return clear(this.#open);
  }

  async state(): Promise<QueueState> {
    return stateOf(this.#open);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open[Symbol.asyncDispose]();
  }
}

async function clear({ queue, sender }: Open): Promise<number> {
  sender.cancel('waiting entries are thrown away');
  const count = await queue.clear();
  sender.retry();
  return count;
}

function stateOf({ destination, queue, sender }: Open): QueueState {
  const { count: waiting, bytes } = queue.waiting;
  const { oldestAt, lost, trouble: disk } = queue;
  const now = { reason: disk?.message ?? '', nextAt: sender.trouble?.nextAt ?? 0 };
  const trouble = disk ? now : waiting > 0 ? sender.trouble : undefined;
  return {
    id: destination.id,
    to: destination.to,
    waiting,
    bytes,
    sent: sender.sent,
    lost,
    ...maybe({ oldestAt }),
    ...(trouble && { trouble: { reason: trouble.reason, nextAt: trouble.nextAt } }),
  };
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
