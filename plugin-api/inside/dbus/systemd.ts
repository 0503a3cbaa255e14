import type { DBus } from './connection.ts';
import { DBusError } from './error.ts';
import { type DBusValue, Variant } from './marshal.ts';

const NAME = 'org.freedesktop.systemd1';
const PROPERTIES = 'org.freedesktop.DBus.Properties';
const NO_QUOTA = 2n ** 64n - 1n;
/** A reload reads every unit of the device again. */
const RELOAD_MS = 60_000;

/** Units of systemd over a bus. What is not loaded is loaded for a question; what is not there is `undefined`, or nothing happens. */
export class Units {
  readonly #bus: DBus;

  constructor(bus: DBus) {
    this.#bus = bus;
  }

  /** Object path of a unit. */
  async path(unit: string): Promise<string> {
    return String((await this.#ask('LoadUnit', 's', [unit]))[0]);
  }

  /** Properties by name, of the interfaces `Unit` and `Service` of systemd. */
  async properties(path: string, sort: 'Unit' | 'Service'): Promise<ReadonlyMap<string, DBusValue>> {
    const call = { destination: NAME, path, interface: PROPERTIES, member: 'GetAll', signature: 's' };
    const [all] = await this.#bus.call({ ...call, body: [`${NAME}.${sort}`] });
    return plain(all);
  }

  /** Calls back whenever properties of a unit change. Nothing is told before somebody subscribed. */
  async watch(path: string, listener: (changed: ReadonlyMap<string, DBusValue>) => void): Promise<Disposable> {
    await this.#ask('Subscribe').catch((error: unknown) => {
      if (!(error instanceof DBusError && error.error === `${NAME}.AlreadySubscribed`)) throw error;
    });
    const rule = { sender: NAME, path, interface: PROPERTIES, member: 'PropertiesChanged' };
    return this.#bus.watch(rule, ({ body }) => listener(plain(body[1])));
  }

  /** Reads all units again, if this one is not what stands on the disk. */
  async refresh(unit: string): Promise<void> {
    const known = await this.properties(await this.path(unit), 'Unit');
    if (known.get('LoadState') !== 'loaded' || known.get('NeedDaemonReload') === true)
      await this.#ask('Reload', '', [], RELOAD_MS);
  }

  /** Resolves when the job is queued. */
  async start(unit: string): Promise<void> {
    await this.#ask('StartUnit', 'ss', [unit, 'replace']);
  }

  async stop(unit: string): Promise<void> {
    await unlessGone(this.#ask('StopUnit', 'ss', [unit, 'replace']));
  }

  /** SIGKILL to all of it. */
  async kill(unit: string): Promise<void> {
    await unlessGone(this.#ask('KillUnit', 'ssi', [unit, 'all', 9]));
  }

  async forget(unit: string): Promise<void> {
    await unlessGone(this.#ask('ResetFailedUnit', 's', [unit]));
  }

  /** Percent of one processor, until the next boot; undefined: as much as there is. */
  async limit(unit: string, percent: number | undefined): Promise<void> {
    const quota = percent === undefined ? NO_QUOTA : BigInt(Math.round(percent * 10_000));
    await this.#ask('SetUnitProperties', 'sba(sv)', [unit, true, [['CPUQuotaPerSecUSec', new Variant('t', quota)]]]);
  }

  #ask(member: string, signature = '', body: readonly DBusValue[] = [], timeoutMs = 10_000) {
    const manager = { destination: NAME, path: '/org/freedesktop/systemd1', interface: `${NAME}.Manager` };
    return this.#bus.call({ ...manager, member, signature, body, timeoutMs });
  }
}

function plain(variants: DBusValue | undefined): ReadonlyMap<string, DBusValue> {
  const map = variants instanceof Map ? (variants as ReadonlyMap<string, Variant>) : new Map<string, Variant>();
  return new Map([...map].map(([name, { value }]) => [name, value]));
}

async function unlessGone(asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    if (!(error instanceof DBusError && error.error === `${NAME}.NoSuchUnit`)) throw error;
  }
}
