/** Lines by handle: levels, directions, settings that change while the Core runs. */
import { isDeepStrictEqual } from 'node:util';
import { CoreError } from '@device-core/plugin-api';
import type { BusCallOptions, BusUser, HandleRow, HandleTable } from '@device-core/plugin-api/buses';
import type { Gpio, GpioHandle, GpioLineConfig } from '@device-core/plugin-api/services/gpio';
import type { LineMemory, LineSettings } from './line-memory.ts';
import { checkLine, configureBody, levelIn, OP, readBody, writeBody } from './messages.ts';

const DEADLINE_MS = 1_000;

export class Lines implements Pick<Gpio, 'read' | 'write' | 'configure'> {
  readonly #table: HandleTable<GpioHandle>;
  readonly #user: BusUser<GpioHandle>;
  readonly #memory: LineMemory;
  /** Levels of outputs, as they were written last. */
  readonly #written = new WeakMap<HandleRow<GpioHandle>, 0 | 1>();

  constructor(table: HandleTable<GpioHandle>, user: BusUser<GpioHandle>, memory: LineMemory) {
    this.#table = table;
    this.#user = user;
    this.#memory = memory;
  }

  async read(name: string, options: BusCallOptions = {}): Promise<0 | 1> {
    return this.#level(this.#table.find(name), options);
  }

  async write(name: string, level: 0 | 1, options: BusCallOptions = {}): Promise<void> {
    const row = this.#table.find(name);
    const { line, direction } = row.handle;
    if (direction === 'in') throw new CoreError('PARAMS_INVALID', { where: 'handle', reason: `${name} is an input` });
    await this.#user.request(row, { ...options, op: OP.write, body: writeBody(line, level), deadlineMs: DEADLINE_MS });
    this.#written.set(row, level);
  }

  async configure(
    name: string,
    settings: Partial<Omit<GpioLineConfig, 'line'>>,
    options: BusCallOptions = {},
  ): Promise<void> {
    const row = this.#table.find(name);
    const wanted: GpioHandle = { ...row.handle, ...settings };
    checkLine(wanted);
    await this.#apply(row, wanted, options);
    row.handle = Object.freeze(wanted);
    this.#written.delete(row);
  }

  /**
   * Gives a line the settings of its handle, and the level that was written last. A line that has them already keeps
   * both: it was given them by a former run of this plugin, and its endpoint was not reset since.
   */
  async restore(row: HandleRow<GpioHandle>, options: BusCallOptions, boot: string): Promise<void> {
    const { handle } = row;
    const has = this.#memory.recall(handle.endpoint, handle.line, boot);
    if (has === undefined) {
      const initial = handle.onReset === 'initial' ? undefined : this.#written.get(row);
      return this.#apply(row, initial === undefined ? handle : { ...handle, initial }, options);
    }
    const keepsLevel = has.direction === 'out' && handle.direction === 'out';
    const level = keepsLevel ? (this.#written.get(row) ?? (await this.#level(row, options))) : undefined;
    if (level !== undefined) this.#written.set(row, level);
    if (isDeepStrictEqual(has, settingsOf(handle))) return;
    await this.#apply(row, level === undefined ? handle : { ...handle, initial: level }, options);
  }

  async #level(row: HandleRow<GpioHandle>, options: BusCallOptions): Promise<0 | 1> {
    const { line, name } = row.handle;
    const request = { ...options, op: OP.read, body: readBody(line), deadlineMs: DEADLINE_MS };
    return levelIn(await this.#user.request(row, request), line, name);
  }

  async #apply(row: HandleRow<GpioHandle>, handle: GpioHandle, options: BusCallOptions): Promise<void> {
    const { endpoint } = handle;
    const boot = this.#user.bootOf(endpoint);
    const request = { ...options, op: OP.configure, body: configureBody(handle), deadlineMs: DEADLINE_MS };
    await this.#user.request(row, request);
    if (boot !== undefined && boot === this.#user.bootOf(endpoint))
      this.#memory.keep(endpoint, boot, settingsOf(handle));
  }
}

/** Settings that a line keeps until its endpoint is reset, all members filled in. */
function settingsOf(handle: GpioHandle): LineSettings {
  const { line, direction, pull = 'none', edge = 'none', debounceUs = 0, safe = 'keep' } = handle;
  return { line, direction, pull, edge, debounceUs, safe };
}
