/** Makes changes: so many at once, one after the other for a subject, each step recorded before it runs. */

import { CoreError, maybe, type PluginHost, toCoreError } from '@device-core/plugin-api';
import type { ChangeInfo, ChangeMaker, ChangeRequest, Changes } from '@device-core/plugin-api/inside/services/changes';
import { type ChangeRecord, isOver, newRecord, viewOf } from './record.ts';
import type { Records } from './records.ts';

/** For what its maker is still at when the next one comes. */
const CUT_OFF_MS = 10_000;

export interface ChangesConfig {
  readonly atOnce: number;
  readonly waiting: number;
  readonly history: number;
  readonly stepMs: number;
}

interface Served {
  readonly maker: ChangeMaker;
  /** Aborted when the maker has gone: what it was doing is left as it is recorded. */
  readonly gone: AbortController;
}

export class ChangeService implements Changes {
  readonly #records: Records;
  readonly #host: PluginHost<ChangesConfig>;
  readonly #makers = new Map<string, Served>();
  readonly #queue: ChangeRecord[] = [];
  /** By subject. */
  readonly #running = new Map<string, ChangeRecord>();
  /** Ids of those that nobody has begun yet: what was cut off is told apart from them. */
  readonly #fresh = new Set<string>();
  /** By id: a step that its maker may still be at, although nobody waits for it any more. */
  readonly #lingering = new Map<string, Promise<unknown>>();

  constructor(records: Records, host: PluginHost<ChangesConfig>) {
    this.#records = records;
    this.#host = host;
  }

  serve(maker: ChangeMaker): Disposable {
    const served: Served = { maker, gone: new AbortController() };
    this.#makers.get(maker.kind)?.gone.abort();
    this.#makers.set(maker.kind, served);
    // The oldest first: a later one may build on it.
    const cutOff = this.#records
      .list()
      .filter((record) => record.kind === maker.kind && !isOver(record) && !this.#queue.includes(record))
      .toReversed();
    this.#queue.push(...cutOff);
    this.#next();
    return {
      [Symbol.dispose]: () => {
        served.gone.abort();
        if (this.#makers.get(maker.kind) === served) this.#makers.delete(maker.kind);
      },
    };
  }

  async begin(request: ChangeRequest): Promise<string> {
    const { config, clock } = this.#host;
    const served = this.#makers.get(request.kind);
    if (!served) throw new CoreError('UNAVAILABLE', { what: request.kind, reason: 'its plugin does not run' });
    if (this.#queue.length >= config.waiting)
      throw new CoreError('BUSY', { what: `a change of ${request.subject}`, limit: config.waiting });
    const record = newRecord(this.#records.nextId(), request, served.maker, clock.now());
    this.#queue.push(record);
    try {
      await this.#records.save(record);
    } catch (error) {
      this.#queue.splice(this.#queue.indexOf(record), 1);
      throw error;
    }
    this.#tell(record);
    this.#fresh.add(record.id);
    this.#next();
    return record.id;
  }

  async get(id: string): Promise<ChangeInfo> {
    const view = this.#records.view(id);
    if (!view) throw new CoreError('CHANGE_NOT_FOUND', { change: id });
    return view;
  }

  async list(): Promise<readonly ChangeInfo[]> {
    return this.#records.list().flatMap(({ id }) => this.#records.view(id) ?? []);
  }

  #next(): void {
    for (const record of [...this.#queue]) {
      if (this.#running.size >= this.#host.config.atOnce) return;
      const served = this.#makers.get(record.kind);
      // Not on the disk yet, or its maker has gone: it keeps its place.
      if (!served || this.#running.has(record.subject) || this.#records.get(record.id) !== record) continue;
      this.#queue.splice(this.#queue.indexOf(record), 1);
      this.#running.set(record.subject, record);
      void this.#drive(record, served)
        .catch((err) => this.#host.log.error({ err, change: record.id }, 'cannot record a change any further'))
        .finally(() => {
          this.#running.delete(record.subject);
          if (!this.#host.scope.signal.aborted) this.#next();
        });
    }
  }

  async #drive(record: ChangeRecord, served: Served): Promise<void> {
    const { scope } = this.#host;
    const fresh = this.#fresh.delete(record.id);
    const former = this.#lingering.get(record.id);
    // Two generations of a maker are not at one step at a time, unless the first hangs.
    if (former) await scope.within('a step that was cut off', CUT_OFF_MS, () => former).catch(() => undefined);
    const begun = !fresh && record.state !== 'undoing';
    if (begun && !record.committed) {
      const reason = 'the Core or its plugin ended before it was committed';
      record.error = errorOf(new CoreError('CANCELLED', { what: record.summary, reason }));
    }
    if (!record.error) await this.#forward(record, served);
    if (record.error && !this.#left(served)) await this.#back(record, served);
    if (this.#left(served)) return this.#again(record);
    record.endedAt = this.#host.clock.now();
    await this.#save(record);
    await this.#records.prune();
  }

  /** Does the steps that are not done; what goes wrong stands in `error` afterwards. */
  async #forward(record: ChangeRecord, served: Served): Promise<void> {
    try {
      for (const step of record.steps) {
        if (step.state === 'done') continue;
        step.state = 'doing';
        record.state = 'doing';
        await this.#save(record);
        const more = await this.#within(served, step.name, (maker) => maker.perform(step.name, record.data, record.id));
        step.state = 'done';
        record.data = { ...record.data, ...more };
        record.committed ||= step.name === served.maker.commit;
      }
      record.state = 'done';
    } catch (error) {
      if (!this.#left(served)) record.error = errorOf(error);
    }
  }

  /** Takes the steps back, the last first. What the disk does not record then is done all the same. */
  async #back(record: ChangeRecord, served: Served): Promise<void> {
    const { log } = this.#host;
    record.state = 'undoing';
    let whole = true;
    for (const step of record.steps.toReversed()) {
      if (step.state === 'waiting' || step.state === 'undone') continue;
      step.state = 'undoing';
      await this.#save(record).catch((err) => log.error({ err, change: record.id }, 'cannot record that it is undone'));
      try {
        await this.#within(served, step.name, (maker) => maker.undo(step.name, record.data, record.id));
        step.state = 'undone';
      } catch (err) {
        if (this.#left(served)) return;
        log.error({ err, change: record.id, step: step.name }, 'cannot undo a step of a change');
        step.state = 'failed';
        whole = false;
      }
    }
    record.state = whole ? 'undone' : 'failed';
  }

  #within<T>({ maker, gone }: Served, step: string, work: (maker: ChangeMaker) => Promise<T>): Promise<T> {
    const { scope, config } = this.#host;
    const label = `step ${step} of ${maker.kind}`;
    return scope.within(label, config.stepMs, () => work(maker), { signal: gone.signal });
  }

  #left({ gone }: Served): boolean {
    return gone.signal.aborted || this.#host.scope.signal.aborted;
  }

  /** Its maker has gone: whoever serves its kind next finds the record as the last save left it. */
  #again(record: ChangeRecord): void {
    if (this.#host.scope.signal.aborted) return;
    this.#queue.unshift(record);
  }

  async #save(record: ChangeRecord): Promise<void> {
    await this.#records.save(record);
    this.#tell(record);
  }

  #tell(record: ChangeRecord): void {
    const { id, kind, subject, state, progress, steps } = viewOf(record);
    const step = steps.find((one) => one.state === 'doing' || one.state === 'undoing')?.name;
    const { done, of } = progress;
    const payload = { change: id, kind, subject, state, done, of, ...maybe({ step }) };
    try {
      this.#host.bus.publish('change.state', payload);
    } catch (err) {
      this.#host.log.warn({ err, change: id }, 'cannot tell the state of a change: the event was refused');
    }
  }
}

function errorOf(thrown: unknown): NonNullable<ChangeRecord['error']> {
  const { code, message, details } = toCoreError(thrown, 'a change');
  return { code, message, ...(Object.keys(details).length > 0 ? { details } : {}) };
}
