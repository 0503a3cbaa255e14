/** Sends what waits, one batch at a time: in the ledger first, again later where it was not taken, never in a loop. */
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';
import type { Queued, Sent } from '@device-core/plugin-api/inside/services/outbox';
import { BackOff } from './back-off.ts';
import type { Checked } from './message.ts';
import type { Flying, Queue } from './queue.ts';

export type Send = (batch: readonly Queued[], signal: AbortSignal) => Promise<Sent>;

export interface SenderOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly destination: Checked;
  /** Plugin that sends. */
  readonly owner: string;
  readonly send: Send;
  /** Milliseconds for one call of `send`. */
  readonly sendMs: number;
  readonly ledger: () => DeparturesLedger | undefined;
  readonly random?: () => number;
}

export interface Trouble {
  readonly reason: string;
  /** Wall time. */
  readonly nextAt: number;
  /** The device itself is what is in the way. */
  readonly code?: string;
}

/** One line of the ledger stands for all attempts with the same messages, for so long. */
const LINE_MS = 3_600_000;
/** Number of failed batches that are logged one by one; later ones show in the health. */
const WARNED = 1;

interface Line {
  readonly of: string;
  readonly id: string;
  readonly until: number;
}

export class Sender {
  readonly #options: SenderOptions;
  readonly #queue: Queue;
  readonly #backOff: BackOff;
  #limit: number;
  #busy = false;
  #offline = false;
  #timer: Disposable | undefined;
  #attempt: AbortController | undefined;
  #line: Line | undefined;
  #failures = 0;
  trouble: Trouble | undefined;
  /** Messages that were taken since the start. */
  sent = 0;

  constructor(queue: Queue, options: SenderOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#backOff = new BackOff(options.random);
    this.#limit = options.destination.batch;
  }

  get offline(): boolean {
    return this.#offline;
  }

  /** Something waits. */
  wake(): void {
    if (this.#busy || this.#offline || this.#timer || this.#options.scope.signal.aborted) return;
    if (this.#queue.waiting.count > 0) void this.#run();
  }

  /** Tries again at once, because the obstacle may be gone. */
  retry(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#backOff.reset();
    this.wake();
  }

  connected(offline: boolean): void {
    const back = this.#offline && !offline;
    this.#offline = offline;
    if (back) this.retry();
  }

  /** Gives up the messages under way. */
  cancel(reason: string): void {
    this.#attempt?.abort(new CoreError('CANCELLED', { what: 'sending', reason }));
    this.#line = undefined;
  }

  async #run(): Promise<void> {
    const { scope, log } = this.#options;
    this.#busy = true;
    try {
      while (!this.#offline && !scope.signal.aborted && this.#queue.waiting.count > 0) {
        const waitMs = await this.#once();
        if (waitMs !== undefined) return this.#wait(waitMs);
        await new Promise((resolve) => setImmediate(resolve)); // other work has its turn beside a long queue
      }
    } catch (error) {
      this.#failed(
        error instanceof CoreError ? error : new CoreError('INTERNAL', { what: 'sending' }, { cause: error }),
      );
      if (!(error instanceof CoreError)) log.error({ err: error }, 'a batch was not sent');
    } finally {
      this.#busy = false;
    }
    this.wake();
  }

  /** The device itself is in the way: its disk, its ledger. */
  #failed({ code, message }: CoreError): void {
    if (this.#options.scope.signal.aborted) return;
    const ms = this.#backOff.next();
    this.#told({ reason: message, code }, ms);
    this.#wait(ms);
  }

  #wait(ms: number): void {
    const { scope } = this.#options;
    if (scope.signal.aborted || this.#timer) return;
    this.#timer = scope.timeout('next attempt', ms, () => {
      this.#timer = undefined;
      this.wake();
    });
  }

  /** One batch. Milliseconds to wait where it was not taken. Throws where the disk of the device is in the way. */
  async #once(): Promise<number | undefined> {
    // Before anything is taken: what is thrown away from here on is not sent.
    const attempt = new AbortController();
    this.#attempt = attempt;
    try {
      return await this.#try(attempt.signal);
    } finally {
      this.#attempt = undefined;
    }
  }

  async #try(signal: AbortSignal): Promise<number | undefined> {
    const batch = await this.#queue.take(this.#limit);
    if (batch.length === 0) return this.#queue.waiting.count > 0 ? this.#backOff.next() : undefined;
    const bytes = batch.reduce((sum, row) => sum + row.bytes, 0);
    let line: string;
    try {
      line = await this.#writeDown(batch, bytes);
    } catch (error) {
      await this.#queue.land(batch);
      const ms = this.#backOff.next();
      const reason = `nothing is sent, for it could not be written down before: ${reasonOf(error)}`;
      this.#told({ reason, code: error instanceof CoreError ? error.code : 'INTERNAL' }, ms);
      return ms;
    }
    if (signal.aborted) return this.#givenUp(batch);
    const sent = await this.#send(batch, signal);
    if (!(sent.outcome === 'later' && sent.unsent === true)) await this.#count(line, bytes);
    return signal.aborted ? this.#givenUp(batch) : this.#settle(batch, sent);
  }

  async #givenUp(batch: readonly Flying[]): Promise<undefined> {
    this.#line = undefined; // numbers of messages begin anew: the line is of others
    await this.#queue.land(batch); // what was thrown away meanwhile is not there
  }

  async #settle(batch: readonly Flying[], sent: Sent): Promise<number | undefined> {
    const { log, destination } = this.#options;
    switch (sent.outcome) {
      case 'taken':
        await this.#queue.end(batch, false);
        this.sent += batch.length;
        this.#limit = Math.min(destination.batch, this.#limit + 1);
        this.#well();
        return undefined;
      case 'too-large':
        if (batch.length > 1) {
          await this.#queue.land(batch);
          this.#limit = Math.max(1, Math.floor(batch.length / 2));
          return undefined;
        }
        return this.#refuse(batch, 'it is too large, alone');
      case 'refused':
        return this.#refuse(batch, sent.reason);
      default: {
        await this.#queue.land(batch);
        const ms = this.#backOff.next(sent.afterMs);
        this.#told({ reason: sent.reason }, ms);
        if (this.#failures++ < WARNED)
          log.warn({ destination: destination.id, reason: sent.reason, ms }, 'messages were not taken; they wait');
        return ms;
      }
    }
  }

  async #refuse(batch: readonly Flying[], reason: string): Promise<undefined> {
    const { log, destination } = this.#options;
    await this.#queue.end(batch, true);
    log.warn({ destination: destination.id, messages: batch.length, reason }, 'messages were refused, and dropped');
    this.#well();
  }

  async #send(batch: readonly Flying[], signal: AbortSignal): Promise<Sent> {
    const { scope, send, sendMs, destination } = this.#options;
    try {
      const queued = batch.map((row) => row.queued);
      const label = `sending to ${destination.id}`;
      return checked(await scope.within(label, sendMs, (over) => send(queued, over), { signal }));
    } catch (error) {
      return { outcome: 'later', reason: reasonOf(error) };
    }
  }

  /** Resolves when it is on the disk: only then may anything leave. */
  async #writeDown(batch: readonly Flying[], bytes: number): Promise<string> {
    const { ledger, scope, owner, destination } = this.#options;
    const of = batch.map(({ id, body }) => `${id}:${body.length}`).join();
    const now = scope.clock.monotonic();
    if (this.#line?.of === of && now < this.#line.until) return this.#line.id;
    const service = ledger();
    if (!service)
      throw new CoreError('SERVICE_MISSING', { service: 'ledger', range: '^1.0.0', reason: 'it is not there' });
    const { id: queue, part, to } = destination;
    const what = [...new Set(batch.map((row) => row.what))].sort().join(', ').slice(0, 512);
    const details = { queue, messages: batch.length, bytes };
    const id = await service.write({ part, for: owner, to, what, bytes: 0, details });
    this.#line = { of, id, until: now + LINE_MS };
    return id;
  }

  async #count(line: string, bytes: number): Promise<void> {
    const { ledger, log, destination } = this.#options;
    try {
      await ledger()?.count(line, bytes);
    } catch (error) {
      log.warn({ destination: destination.id, reason: reasonOf(error) }, 'bytes that left were not counted');
    }
  }

  #told(trouble: Omit<Trouble, 'nextAt'>, ms: number): void {
    this.trouble = { ...trouble, nextAt: Math.round(this.#options.scope.clock.now() + ms) };
  }

  #well(): void {
    this.#backOff.reset();
    this.#failures = 0;
    this.trouble = undefined;
  }
}

/** Checks an outcome: an answer from the other side of a border may have any shape. */
function checked(sent: Sent): Sent {
  const { outcome, reason } = (sent ?? {}) as { readonly outcome?: unknown; readonly reason?: unknown };
  if (outcome === 'taken' || outcome === 'too-large') return { outcome };
  const said = typeof reason === 'string' && reason !== '' ? reason.slice(0, 512) : 'no reason was given';
  if (outcome === 'refused') return { outcome, reason: said };
  if (outcome === 'later') return { ...(sent as Sent & { outcome: 'later' }), reason: said };
  return { outcome: 'later', reason: `the answer is no outcome: ${String(outcome)}` };
}
