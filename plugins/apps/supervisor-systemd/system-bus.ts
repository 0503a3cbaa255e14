import { type Clock, CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { connectDBus, type DBus, DBusError, Units } from '@device-core/plugin-api/inside/dbus';

export interface SystemBusOptions {
  /** Socket of the bus. */
  readonly path: string;
  readonly scope: Scope;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when the bus is there again after it had gone. */
  readonly back: () => void;
}

const PAUSES = [100, 500, 1_000, 5_000, 15_000];

/** systemd over the system's bus: connected to at first need, and again as long as somebody watches. */
export class SystemBus {
  readonly #options: SystemBusOptions;
  #units: Promise<Units> | undefined;
  #gone: string | undefined;

  constructor(options: SystemBusOptions) {
    this.#options = options;
  }

  /** Why systemd cannot be reached now; undefined while it can, or nobody has asked. */
  get gone(): string | undefined {
    return this.#gone;
  }

  /** Result of a request to the bus. Throws UNAVAILABLE with the reason where it fails. */
  async ask<T>(what: string, work: (units: Units) => Promise<T>): Promise<T> {
    try {
      this.#units ??= this.#connect();
      return await work(await this.#units);
    } catch (thrown) {
      if (!(thrown instanceof DBusError)) throw thrown;
      throw new CoreError('UNAVAILABLE', { what: `systemd for ${what}`, reason: reasonOf(thrown) }, { cause: thrown });
    }
  }

  async #connect(): Promise<Units> {
    const { path, scope } = this.#options;
    try {
      const bus = await connectDBus({ path, scope });
      void this.#watch(bus);
      this.#gone = undefined;
      return new Units(bus);
    } catch (error) {
      this.#units = undefined;
      this.#gone = reasonOf(error);
      throw error;
    }
  }

  async #watch(bus: DBus): Promise<void> {
    const { scope, log } = this.#options;
    const reason = await bus.ended;
    this.#units = undefined;
    if (scope.signal.aborted) return;
    this.#gone = reason.message;
    log.warn(
      { reason: reason.message },
      'the bus of the system has gone: ends of guests are not seen until it is back',
    );
    await this.#return(0);
  }

  async #return(attempt: number): Promise<void> {
    const { clock, scope, back } = this.#options;
    try {
      await clock.sleep(PAUSES[Math.min(attempt, PAUSES.length - 1)] ?? 0, scope.signal);
      this.#units ??= this.#connect();
      await this.#units;
    } catch {
      // After the end of the scope the result is not needed; else health shows the loss.
      if (!scope.signal.aborted) await this.#return(attempt + 1);
      return;
    }
    back();
  }
}
