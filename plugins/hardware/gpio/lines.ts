/** Lines by handle: levels, directions, settings that change while the Core runs. */
import { CoreError, type Gpio, type GpioHandle, type GpioLineConfig } from '@device-core/plugin-api';
import type { BusCallOptions, BusUser, HandleRow, HandleTable } from '@device-core/plugin-api/buses';
import { checkLine, configureBody, levelIn, OP, readBody, writeBody } from './messages.ts';

const DEADLINE_MS = 1_000;

export class Lines implements Pick<Gpio, 'read' | 'write' | 'configure'> {
  readonly #table: HandleTable<GpioHandle>;
  readonly #user: BusUser<GpioHandle>;
  /** Levels of outputs since they were configured. */
  readonly #written = new WeakMap<HandleRow<GpioHandle>, 0 | 1>();

  constructor(table: HandleTable<GpioHandle>, user: BusUser<GpioHandle>) {
    this.#table = table;
    this.#user = user;
  }

  async read(name: string, options: BusCallOptions = {}): Promise<0 | 1> {
    const row = this.#table.find(name);
    const { line } = row.handle;
    const request = { ...options, op: OP.read, body: readBody(line), deadlineMs: DEADLINE_MS };
    return levelIn(await this.#user.request(row, request), line, name);
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

  /** Gives a line whose settings the bridge does not have the settings of the handle, and the level that was written last. */
  restore(row: HandleRow<GpioHandle>, options: BusCallOptions): Promise<void> {
    const { handle } = row;
    const initial = handle.onReset === 'initial' ? undefined : this.#written.get(row);
    return this.#apply(row, initial === undefined ? handle : { ...handle, initial }, options);
  }

  async #apply(row: HandleRow<GpioHandle>, handle: GpioHandle, options: BusCallOptions): Promise<void> {
    const request = { ...options, op: OP.configure, body: configureBody(handle), deadlineMs: DEADLINE_MS };
    await this.#user.request(row, request);
  }
}
