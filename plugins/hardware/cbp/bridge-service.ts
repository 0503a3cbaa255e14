/** The service `bridge`: endpoints by label, errors of the one table. */
import {
  type Bridge,
  type BridgeEndpoint,
  type BridgeEndpointStatistics,
  type BridgeEvent,
  type BridgeHealth,
  type BridgeRequestOptions,
  type BridgeStatistics,
  CoreError,
  type GpioLineConfig,
  type LinkState,
  type SpixTransfer,
} from '@device-core/plugin-api';
import { CLASS } from './descriptor.ts';
import { describe, type EndpointRow } from './endpoint-table.ts';
import { configBody, GPIO, readBody, readLevels, writeBody } from './gpio.ts';
import { bridgeHealth } from './health.ts';
import type { Host } from './host.ts';
import { defaultDeadlineMs, SPIX, transferBody } from './spix.ts';
import { STATUS, statusError } from './status.ts';
import { REBOOT_MODE, readEndpointStatistics, readStatistics, SYS } from './sys.ts';

/** What the host waits for an answer where the caller leaves the deadline to the endpoint. */
const PATIENCE_MS = 5_000;
const GPIO_DEADLINE_MS = 1_000;
const SYS_DEADLINE_MS = 1_000;
const ANSWER_LIMIT = 65_536;

interface Call {
  readonly endpoint: string;
  readonly what: string;
  readonly class?: number;
  readonly op: number;
  readonly body: Uint8Array;
  readonly answerLimit: number;
  /** Where the caller names none. */
  readonly deadlineMs: number;
}

export class BridgeService implements Bridge {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  async health(): Promise<BridgeHealth> {
    return bridgeHealth(this.#host);
  }

  async endpoints(): Promise<readonly BridgeEndpoint[]> {
    return this.#rows().map(describe);
  }

  request(endpoint: string, op: number, body: Uint8Array, options: BridgeRequestOptions = {}): Promise<Uint8Array> {
    const what = `request ${op} to ${endpoint}`;
    return this.#call({ endpoint, what, op, body, answerLimit: ANSWER_LIMIT, deadlineMs: 0 }, options);
  }

  spixTransfer(endpoint: string, transfer: SpixTransfer, options: BridgeRequestOptions = {}): Promise<Uint8Array> {
    return this.#call(
      {
        endpoint,
        what: `SPI transfer on ${endpoint}`,
        class: CLASS.SPIX,
        op: SPIX.XFER,
        body: transferBody(transfer),
        answerLimit: transfer.rxLength,
        deadlineMs: defaultDeadlineMs(transfer),
      },
      options,
    );
  }

  async gpioRead(endpoint: string, mask: number, options: BridgeRequestOptions = {}): Promise<number> {
    const levels = readLevels(await this.#gpio(endpoint, 'read', GPIO.READ, readBody(mask), options));
    if (levels === undefined) throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'INVALID' });
    return levels;
  }

  async gpioWrite(endpoint: string, mask: number, values: number, options: BridgeRequestOptions = {}): Promise<void> {
    await this.#gpio(endpoint, 'write', GPIO.WRITE, writeBody(mask, values), options);
  }

  async gpioConfigure(endpoint: string, config: GpioLineConfig, options: BridgeRequestOptions = {}): Promise<void> {
    await this.#gpio(endpoint, 'configuration', GPIO.CONFIG, configBody(config), options);
  }

  onEvent(endpoint: string, listener: (event: BridgeEvent) => void): Disposable {
    return this.#host.events.add(endpoint, listener);
  }

  async statistics(options: BridgeRequestOptions = {}): Promise<BridgeStatistics> {
    return readable(readStatistics(await this.#sys('statistics', SYS.STATS, [], options)));
  }

  async endpointStatistics(endpoint: string, options: BridgeRequestOptions = {}): Promise<BridgeEndpointStatistics> {
    const body = [this.#row(endpoint).descriptor.ep];
    return readable(readEndpointStatistics(await this.#sys(`statistics of ${endpoint}`, SYS.EP_STATS, body, options)));
  }

  async resetEndpoint(endpoint: string, options: BridgeRequestOptions = {}): Promise<void> {
    await this.#sys(`reset of ${endpoint}`, SYS.EP_RESET, [this.#row(endpoint).descriptor.ep], options);
  }

  async reboot(mode: 'app' | 'bootloader', options: BridgeRequestOptions = {}): Promise<void> {
    await this.#sys('reboot', SYS.REBOOT, [REBOOT_MODE[mode]], options);
  }

  onLink(listener: (state: LinkState, reason?: string) => void): Disposable {
    return this.#host.onLink(listener);
  }

  #sys(verb: string, op: number, body: readonly number[], options: BridgeRequestOptions): Promise<Uint8Array> {
    const endpoint = this.#rows().find(({ descriptor }) => descriptor.ep === 0)?.name ?? 'sys';
    const call = { endpoint, what: `${verb} of the bridge`, op, body: Uint8Array.from(body) };
    return this.#call({ ...call, answerLimit: ANSWER_LIMIT, deadlineMs: SYS_DEADLINE_MS }, options);
  }

  #gpio(
    endpoint: string,
    verb: string,
    op: number,
    body: Uint8Array,
    options: BridgeRequestOptions,
  ): Promise<Uint8Array> {
    const what = `GPIO ${verb} on ${endpoint}`;
    return this.#call(
      { endpoint, what, class: CLASS.GPIO, op, body, answerLimit: 4, deadlineMs: GPIO_DEADLINE_MS },
      options,
    );
  }

  async #call(call: Call, options: BridgeRequestOptions): Promise<Uint8Array> {
    const { endpoint, what, op, body, answerLimit } = call;
    const { signal } = options;
    const row = this.#row(endpoint);
    const channel = this.#host.channel(row);
    if (!channel) throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'NO_ENDPOINT' });
    if (call.class !== undefined && row.descriptor.class !== call.class) {
      throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'UNSUPPORTED' });
    }
    const deadlineMs = Math.ceil(options.deadlineMs || call.deadlineMs);
    const failed = { endpoint, what, deadlineMs: deadlineMs || PATIENCE_MS };
    if (signal?.aborted) throw statusError(STATUS.CANCELLED, failed);
    const request = channel.submit({ op, body, deadlineMs, patienceMs: failed.deadlineMs, answerLimit });
    const cancel = () => channel.cancel(request);
    signal?.addEventListener('abort', cancel, { once: true });
    const outcome = await request.outcome.finally(() => signal?.removeEventListener('abort', cancel));
    if (outcome.status === STATUS.OK) return outcome.body;
    throw statusError(outcome.status, failed);
  }

  #row(endpoint: string): EndpointRow {
    const row = this.#rows().find(({ name }) => name === endpoint);
    if (!row) throw new CoreError('BRIDGE_FAILED', { endpoint, status: 'NO_ENDPOINT' });
    return row;
  }

  #rows(): readonly EndpointRow[] {
    const { rows } = this.#host;
    if (rows) return rows;
    throw statusError(STATUS.LINK_DOWN, {
      endpoint: '',
      what: '',
      deadlineMs: 0,
      reason: `the bridge link is ${this.#host.state} (${this.#host.link.reason ?? 'reading the endpoint table'})`,
    });
  }
}

function readable<T>(statistics: T | undefined): T {
  if (!statistics) throw new CoreError('BRIDGE_FAILED', { endpoint: 'sys', status: 'INVALID' });
  return statistics;
}
