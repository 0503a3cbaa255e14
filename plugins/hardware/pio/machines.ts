/** State machines by handle. */

import {
  answeredTooLittle,
  type BusCallOptions,
  type BusUser,
  type HandleRow,
  type HandleTable,
} from '@device-core/plugin-api/buses';
import type { Listeners } from '@device-core/plugin-api/operation-kit';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import type { Pio, PioHandle, PioLoaded, PioMachineConfig, PioWidth } from '@device-core/plugin-api/services/pio';
import { assemble } from './assembler/index.ts';
import { configureBody, enableBody, IRQ_EVENT, loadBody, OP, readBody, wordsIn, writeBody } from './messages.ts';

const CONFIGURE_MS = 1_000;
/** A machine without input takes no words, and one that waits for a line gives none. */
const TRANSFER_MS = 5_000;

export class Machines implements Omit<Pio, 'register' | 'handles' | 'onInterrupt'> {
  readonly #table: HandleTable<PioHandle>;
  readonly #user: BusUser<PioHandle>;
  readonly #listeners: Listeners<number>;
  readonly #interrupts = new WeakMap<HandleRow<PioHandle>, number>();

  constructor(table: HandleTable<PioHandle>, user: BusUser<PioHandle>, listeners: Listeners<number>) {
    this.#table = table;
    this.#user = user;
    this.#listeners = listeners;
  }

  interruptsOf(row: HandleRow<PioHandle>): number {
    return this.#interrupts.get(row) ?? 0;
  }

  async load(
    name: string,
    program: readonly number[],
    origin?: number,
    options: BusCallOptions = {},
  ): Promise<PioLoaded> {
    const row = this.#table.find(name);
    const body = loadBody(program, origin);
    const answer = await this.#user.request(row, { ...options, op: OP.load, body, deadlineMs: CONFIGURE_MS });
    const [slot, at] = answer;
    if (slot === undefined || at === undefined) throw answeredTooLittle(name);
    return { slot, origin: at };
  }

  async loadSource(name: string, source: string, origin?: number, options: BusCallOptions = {}) {
    const { program, execctrl, pinctrl, names, ...text } = assemble(source);
    return { ...(await this.load(name, program, origin ?? text.origin, options)), execctrl, pinctrl, names };
  }

  async configure(name: string, config: PioMachineConfig, options: BusCallOptions = {}): Promise<void> {
    const row = this.#table.find(name);
    const body = configureBody(row.handle.machine, config);
    await this.#user.request(row, { ...options, op: OP.configure, body, deadlineMs: CONFIGURE_MS });
  }

  async enable(name: string, enabled: boolean, options: BusCallOptions = {}): Promise<void> {
    const row = this.#table.find(name);
    const body = enableBody(row.handle.machine, enabled);
    await this.#user.request(row, { ...options, op: OP.enable, body, deadlineMs: CONFIGURE_MS });
  }

  async write(
    name: string,
    words: readonly number[],
    width: PioWidth = 4,
    options: BusCallOptions = {},
  ): Promise<void> {
    const row = this.#table.find(name);
    const body = writeBody(row.handle.machine, words, width);
    await this.#user.request(row, { ...options, op: OP.write, body, deadlineMs: TRANSFER_MS });
  }

  async read(
    name: string,
    count: number,
    width: PioWidth = 4,
    options: BusCallOptions = {},
  ): Promise<readonly number[]> {
    const row = this.#table.find(name);
    const body = readBody(row.handle.machine, count, width);
    const request = { ...options, op: OP.read, body, deadlineMs: TRANSFER_MS, answerBytes: count * width };
    return wordsIn(await this.#user.request(row, request), width);
  }

  /** The flags belong to the block: every handle of it hears of them. */
  take(endpoint: string, { op, data }: EndpointEvent): void {
    const flags = data[0];
    if (op !== IRQ_EVENT || flags === undefined) return;
    for (const row of this.#table.on(endpoint)) {
      this.#interrupts.set(row, this.interruptsOf(row) + 1);
      this.#listeners.tell(row.handle.name, flags);
    }
  }
}
