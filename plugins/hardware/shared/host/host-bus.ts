/**
 * One bus of the host as a source of endpoints: its device is opened when it is there and again when it comes back.
 * One request is with the kernel at a time; its caller has an answer in its time, and the bus stays busy until the
 * kernel has returned.
 */
import { CoreError, type Logger, type Scope } from '@device-core/plugin-api';
import type {
  EndpointEvent,
  EndpointRequestOptions,
  EndpointSource,
  SourceState,
} from '@device-core/plugin-api/services/endpoints';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { interruption, isGone, openReason, refusal, statusError } from './status.ts';

/** Something that a device told by itself. */
export interface DeviceEvent {
  readonly op: number;
  readonly data: Uint8Array;
  /** Events that were dropped before it. */
  readonly lost?: number;
  /** Microseconds since it happened. */
  readonly ageUs?: number;
}

/** A device that is open. */
export interface HostDevice {
  /** Another text where the device has forgotten its settings. */
  readonly boot: string;
  /** A plain answer where nothing waits. Throws or rejects with KernelError or CoreError. */
  request(op: number, body: Buffer, limits: { readonly deadlineMs: number }): Uint8Array | Promise<Uint8Array>;
  close(): void;
}

export interface DeviceEars {
  tell(event: DeviceEvent): void;
  /** The device gives no more; it is opened again when it is back. */
  gone(reason: string): void;
}

export interface HostBusOptions {
  /** Id of the plugin. */
  readonly plugin: string;
  /** Name of the endpoint, as the SKU has it. */
  readonly endpoint: string;
  readonly path: string;
  readonly class: number;
  readonly maxTransfer: number;
  open(ears: DeviceEars): HostDevice | Promise<HostDevice>;
  readonly scope: Scope;
  readonly log: Logger;
}

interface Job {
  readonly op: number;
  readonly body: Buffer;
  readonly deadlineMs: number;
  readonly resolve: (answer: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
  /** Its caller has an answer. */
  settled: boolean;
  begun: number | undefined;
  readonly timers: Disposable[];
}

const MAX_INFLIGHT = 16;
const DEADLINE_MS = 1_000;
const AGAIN_MS = 1_000;
/** A call that is with the kernel for so long is told in the health. */
const HANGS_MS = 5_000;
const VERSION = { major: 1, minor: 0 };

export class HostBus implements EndpointSource, Disposable {
  readonly name: string;
  readonly where = 'host';
  readonly #options: HostBusOptions;
  readonly #watchers = new Set<(state: SourceState) => void>();
  readonly #listeners = new Set<(event: EndpointEvent) => void>();
  readonly #queue: Job[] = [];
  #device: HostDevice | undefined;
  #reason = 'it is not open yet';
  #running: Job | undefined;
  #ended = false;

  constructor(options: HostBusOptions) {
    this.#options = options;
    this.name = `${options.plugin}:${options.endpoint}`;
  }

  /** Opens the device, or says why it cannot be and looks again by itself. */
  async start(): Promise<void> {
    if (this.#ended) return;
    const { endpoint, path, log, scope, open } = this.#options;
    let device: HostDevice | undefined;
    const ears: DeviceEars = {
      tell: (event) => this.#tell(event),
      gone: (reason) => {
        if (device && device === this.#device) this.#lost(reason);
      },
    };
    try {
      device = await open(ears);
    } catch (error) {
      const reason = openReason(path, error);
      if (reason !== this.#reason) log.warn({ endpoint, path, reason }, `the host bus ${endpoint} cannot be used`);
      const changed = reason !== this.#reason;
      this.#reason = reason;
      if (changed) this.#became();
      if (!this.#ended) scope.timeout(`the next look at ${path}`, AGAIN_MS, () => this.start());
      return;
    }
    if (this.#ended) {
      device.close();
      return;
    }
    this.#device = device;
    this.#reason = '';
    this.#became();
  }

  request(endpoint: string, op: number, body: Uint8Array, options: EndpointRequestOptions = {}): Promise<Uint8Array> {
    const { deadlineMs, callerMs, signal } = options;
    const own = this.#options.endpoint;
    if (endpoint !== own) return Promise.reject(refusal(endpoint, 'NO_ENDPOINT'));
    if (!this.#device) return Promise.reject(this.#absent());
    if (signal?.aborted) return Promise.reject(this.#cancelled('no'));
    if (this.#queue.length + (this.#running ? 1 : 0) >= MAX_INFLIGHT)
      return Promise.reject(refusal(own, 'BUSY', `${MAX_INFLIGHT} requests wait for it`));
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const job: Job = {
      op,
      body: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      deadlineMs: deadlineMs || DEADLINE_MS,
      resolve,
      reject,
      settled: false,
      begun: undefined,
      timers: [],
    };
    this.#queue.push(job);
    this.#next();
    if (job.settled) return promise;
    if (callerMs !== undefined) this.#limit(job, callerMs, 'caller');
    if (signal) {
      const aborted = () => this.#fail(job, this.#cancelled(executedOf(job)));
      signal.addEventListener('abort', aborted, { once: true });
      job.timers.push({ [Symbol.dispose]: () => signal.removeEventListener('abort', aborted) });
    }
    return promise;
  }

  onEvent(endpoint: string, listener: (event: EndpointEvent) => void): Disposable {
    const own: typeof listener = (event) => listener(event);
    if (endpoint === this.#options.endpoint) this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  onState(listener: (state: SourceState) => void): Disposable {
    const own: typeof listener = (state) => listener(state);
    this.#watchers.add(own);
    own(this.#state());
    return { [Symbol.dispose]: () => void this.#watchers.delete(own) };
  }

  get endpoint(): string {
    return this.#options.endpoint;
  }

  get health(): ComponentHealth {
    const { endpoint, path } = this.#options;
    if (!this.#device) return { status: 'waiting', code: 'NOT_INITIALIZED', message: this.#reason };
    const since = this.#running?.begun;
    if (since !== undefined && this.#options.scope.clock.monotonic() - since >= HANGS_MS)
      return {
        status: 'error',
        code: 'HOST_BUS_HANGS',
        message: `the driver of ${endpoint} (${path}) does not return`,
      };
    return { status: 'okay', message: `${path} of the host` };
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    this.#lost('its plugin stops');
  }

  /** Takes the next request, where none is with the kernel. */
  #next(): void {
    while (!this.#running && this.#device) {
      const job = this.#queue.shift();
      if (!job) return;
      if (!job.settled) this.#begin(job, this.#device);
    }
  }

  #begin(job: Job, device: HostDevice): void {
    let answer: Uint8Array | Promise<Uint8Array>;
    job.begun = this.#options.scope.clock.monotonic();
    try {
      answer = device.request(job.op, job.body, job);
    } catch (error) {
      this.#failed(job, error, device);
      return;
    }
    if (!(answer instanceof Promise)) {
      const bytes = answer;
      this.#settle(job, () => job.resolve(bytes));
      return;
    }
    this.#running = job;
    this.#limit(job, job.deadlineMs, 'transfer');
    answer
      .then(
        (bytes) => this.#settle(job, () => job.resolve(bytes)),
        (error: unknown) => this.#failed(job, error, device),
      )
      .finally(() => {
        this.#running = undefined;
        if (device !== this.#device) device.close();
        this.#next();
      });
  }

  #failed(job: Job, error: unknown, device: HostDevice): void {
    this.#fail(job, statusError(this.#options.endpoint, error));
    if (isGone(error) && device === this.#device) this.#lost(`${this.#options.path} is gone`);
  }

  #limit(job: Job, ms: number, clock: 'caller' | 'transfer'): void {
    const { endpoint, scope } = this.#options;
    const what = `the request to ${endpoint}`;
    const over = () =>
      this.#fail(
        job,
        new CoreError('TIMEOUT', { endpoint, status: 'TIMEOUT', what, ms, clock, executed: executedOf(job) }),
      );
    job.timers.push(scope.timeout(what, ms, over));
  }

  #fail(job: Job, error: CoreError): void {
    this.#settle(job, () => job.reject(error));
  }

  #settle(job: Job, tell: () => void): void {
    if (job.settled) return;
    job.settled = true;
    for (const timer of job.timers) timer[Symbol.dispose]();
    const waiting = this.#queue.indexOf(job);
    if (waiting >= 0) this.#queue.splice(waiting, 1);
    tell();
  }

  #cancelled(executed: string): CoreError {
    const { endpoint } = this.#options;
    const reason = 'the caller gave up';
    return new CoreError('CANCELLED', { endpoint, what: `the request to ${endpoint}`, reason, executed });
  }

  #absent(): CoreError {
    const { endpoint } = this.#options;
    return new CoreError('NOT_INITIALIZED', { endpoint, status: 'LINK_DOWN', reason: this.#reason, executed: 'no' });
  }

  /** The device went: requests end, and it is looked for. */
  #lost(reason: string): void {
    const device = this.#device;
    this.#device = undefined;
    this.#reason = reason;
    const { endpoint, log, scope, path } = this.#options;
    for (const job of [this.#running, ...this.#queue])
      if (job) this.#fail(job, interruption(endpoint, reason, executedOf(job)));
    // A descriptor whose call has not returned would be another device's by then.
    if (device && !this.#running) device.close();
    if (this.#ended) return;
    log.warn({ endpoint, path, reason }, `the host bus ${endpoint} is gone`);
    this.#became();
    scope.timeout(`the next look at ${path}`, AGAIN_MS, () => this.start());
  }

  #state(): SourceState {
    const { endpoint: name, class: kind, maxTransfer } = this.#options;
    if (!this.#device) return { state: 'down', reason: this.#reason, names: [name] };
    const { boot } = this.#device;
    const limits = { maxInflight: MAX_INFLIGHT, maxTransfer };
    return { state: 'up', endpoints: [{ name, class: kind, version: VERSION, ...limits, boot }] };
  }

  #became(): void {
    const state = this.#state();
    for (const watcher of [...this.#watchers]) watcher(state);
  }

  #tell({ op, data, lost = 0, ageUs = 0 }: DeviceEvent): void {
    const { clock } = this.#options.scope;
    const atUs = Math.round(clock.now() * 1_000 - ageUs);
    const timestampUs = (Math.round(clock.monotonic() * 1_000 - ageUs) % 2 ** 32) >>> 0;
    const event = { op, at: Math.floor(atUs / 1_000), atUs, timestampUs, lost, data };
    for (const listener of [...this.#listeners]) listener(event);
  }
}

const executedOf = ({ begun }: Pick<Job, 'begun'>) => (begun === undefined ? 'no' : 'unknown');
