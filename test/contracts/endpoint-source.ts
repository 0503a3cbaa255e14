/** What every source of endpoints must do, be it the bridge or a bus of the host. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { EndpointEvent, EndpointSource, SourceState } from '@device-core/plugin-api/services/endpoints';

export interface SourceUnderTest extends AsyncDisposable {
  readonly source: EndpointSource;
  /** A request that is answered, and its answer. */
  readonly good: {
    readonly endpoint: string;
    readonly op: number;
    readonly body: Uint8Array;
    readonly answer: Uint8Array;
  };
  /** An endpoint that tells events, and what makes it tell one. */
  readonly talking: { readonly endpoint: string; readonly speak: () => Promise<void> };
  /** Takes the device away; it keeps its settings. */
  unplug(reason: string): Promise<void>;
  plug(): Promise<void>;
  /** Another device in its place, or one that was switched off: its settings are gone. */
  replace(): Promise<void>;
  /** Makes the endpoint of the good request take longer than it may. */
  stall(): Promise<void>;
  /** Moves time on, where it is not the machine's, until the work is over. */
  run<T>(work: Promise<T>): Promise<T>;
}

const EXISTING = { op: 0x01, body: new Uint8Array(4) };
const NOBODY = 'nobody-has-this';

async function failure(target: SourceUnderTest, work: Promise<unknown>): Promise<CoreError> {
  const error = await target.run(
    work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    ),
  );
  assert.ok(error instanceof CoreError, 'it should have failed with an error of the table');
  return error;
}

/** States as they are told, and the next one that passes. */
class Told implements Disposable {
  readonly states: SourceState[] = [];
  readonly #listening: Disposable;
  #waiting: { readonly wanted: SourceState['state']; readonly resolve: () => void } | undefined;

  constructor(source: EndpointSource) {
    this.#listening = source.onState((state) => {
      this.states.push(state);
      if (this.#waiting?.wanted === state.state) this.#waiting.resolve();
    });
  }

  get latest(): SourceState {
    return this.states.at(-1) ?? assert.fail('nothing was told');
  }

  /** Resolves at once where this is so already. */
  until(wanted: SourceState['state']): Promise<void> {
    if (this.states.at(-1)?.state === wanted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting = { wanted, resolve };
    });
  }

  boots(): readonly string[] {
    const { latest } = this;
    return latest.state === 'up' ? latest.endpoints.map(({ boot }) => boot) : [];
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
  }
}

/** Declares the tests; call it inside a `describe`. */
export function endpointSourceContract(open: () => Promise<SourceUnderTest>): void {
  it('tells its endpoints, each name once', async () => {
    await using target = await open();
    using told = new Told(target.source);
    await target.run(told.until('up'));
    const { latest } = told;
    assert.ok(latest.state === 'up');
    const names = latest.endpoints.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    assert.ok([target.good.endpoint, target.talking.endpoint].every((name) => names.includes(name)));
    for (const { class: kind, boot, maxTransfer } of latest.endpoints)
      assert.ok(Number.isInteger(kind) && boot.length > 0 && maxTransfer > 0);
  });

  it('answers a request', async () => {
    await using target = await open();
    const { endpoint, op, body, answer } = target.good;
    const before = Uint8Array.from(body);
    assert.deepEqual(new Uint8Array(await target.run(target.source.request(endpoint, op, body))), answer);
    assert.deepEqual(new Uint8Array(body), before, 'the bytes that it was given are as before');
  });

  it('refuses an endpoint and an operation that it does not have, and goes on', async () => {
    await using target = await open();
    const { endpoint, op, body, answer } = target.good;
    const absent = await failure(target, target.source.request(NOBODY, EXISTING.op, EXISTING.body));
    assert.deepEqual([absent.code, absent.details.status], ['BRIDGE_FAILED', 'NO_ENDPOINT']);
    const unknown = await failure(target, target.source.request(endpoint, 0x55, EXISTING.body));
    assert.deepEqual([unknown.code, unknown.details.status], ['BRIDGE_FAILED', 'UNSUPPORTED']);
    assert.deepEqual(new Uint8Array(await target.run(target.source.request(endpoint, op, body))), answer);
  });

  it('ends a request whose caller gives up, before it or meanwhile', async () => {
    await using target = await open();
    const { endpoint, op, body } = target.good;
    const before = { signal: AbortSignal.abort() };
    assert.equal((await failure(target, target.source.request(endpoint, op, body, before))).code, 'CANCELLED');
    await target.stall();
    const stop = new AbortController();
    const work = failure(target, target.source.request(endpoint, op, body, { signal: stop.signal, deadlineMs: 5_000 }));
    queueMicrotask(() => stop.abort());
    assert.equal((await work).code, 'CANCELLED');
  });

  it('ends a request at its deadline', async () => {
    await using target = await open();
    const { endpoint, op, body } = target.good;
    await target.stall();
    const error = await failure(target, target.source.request(endpoint, op, body, { deadlineMs: 20 }));
    assert.equal(error.code, 'TIMEOUT');
  });

  it('tells events to each listener until it goes, over outages', async () => {
    await using target = await open();
    const { source, talking } = target;
    using told = new Told(source);
    await target.run(told.until('up'));
    const heard: EndpointEvent[] = [];
    const next = () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const once = source.onEvent(talking.endpoint, () => resolve());
      return promise.finally(() => once[Symbol.dispose]());
    };
    const one = source.onEvent(talking.endpoint, (event) => void heard.push(event));
    const silent = source.onEvent(NOBODY, () => assert.fail('an endpoint that is not there has no events'));
    const speak = async () => {
      const came = next();
      await talking.speak();
      await target.run(came);
    };
    await speak();
    assert.equal(heard.length, 1);
    assert.ok(heard[0]!.op >= 0x80 && heard[0]!.lost === 0 && heard[0]!.at > 0);
    await target.unplug('out');
    await target.run(told.until('down'));
    await target.plug();
    await target.run(told.until('up'));
    await speak();
    assert.equal(heard.length, 2);
    one[Symbol.dispose]();
    await speak();
    assert.equal(heard.length, 2);
    silent[Symbol.dispose]();
  });

  it('says why it is down, refuses requests then, and comes back with the settings that it had', async () => {
    await using target = await open();
    using told = new Told(target.source);
    await target.run(told.until('up'));
    const boots = told.boots();
    await target.unplug('somebody pulled the plug');
    await target.run(told.until('down'));
    assert.match(told.latest.state === 'down' ? told.latest.reason : '', /somebody pulled the plug/);
    const { endpoint, op, body } = target.good;
    assert.equal((await failure(target, target.source.request(endpoint, op, body))).code, 'NOT_INITIALIZED');
    await target.plug();
    await target.run(told.until('up'));
    assert.deepEqual(told.boots(), boots);
  });

  it('tells another boot when the settings are gone', async () => {
    await using target = await open();
    using told = new Told(target.source);
    await target.run(told.until('up'));
    const boots = told.boots();
    const down = told.until('down');
    await target.replace();
    await target.run(down);
    await target.run(told.until('up'));
    assert.ok(told.boots().every((boot, index) => boot !== boots[index]));
  });
}
