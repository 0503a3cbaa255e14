import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { connectDBus, type DBus, DBusError, type DBusValue, Variant } from '@device-core/plugin-api/inside/dbus';

const NAME = 'de.pengutronix.rauc';
const INSTALLER = `${NAME}.Installer`;
const PROPERTIES = 'org.freedesktop.DBus.Properties';
const BUS = 'org.freedesktop.DBus';
const LOGIN = 'org.freedesktop.login1';

export type Members = ReadonlyMap<string, unknown>;

/** How an install ended. */
export interface Installed {
  /** 0: all is well. */
  readonly result: number;
  readonly error: string;
}

/** RAUC as the bus has it: `de.pengutronix.rauc.Installer` at `/`. Connected at first need, and again after the bus was gone. */
export class Rauc {
  readonly #path: string;
  readonly #scope: Scope;
  #bus: Promise<DBus> | undefined;

  constructor(path: string, scope: Scope) {
    this.#path = path;
    this.#scope = scope;
  }

  /** Throws SLOTS_UNAVAILABLE where nobody answers, DBusError with what RAUC says. */
  async call(member: string, signature = '', body: readonly DBusValue[] = []): Promise<readonly unknown[]> {
    return this.#ask({
      destination: NAME,
      path: '/',
      interface: INSTALLER,
      member,
      signature,
      body,
      timeoutMs: member === 'InspectBundle' ? 30_000 : 5_000,
    });
  }

  async property(name: string): Promise<unknown> {
    const [value] = await this.#ask({
      destination: NAME,
      path: '/',
      interface: PROPERTIES,
      member: 'Get',
      signature: 'ss',
      body: [INSTALLER, name],
    });
    return value;
  }

  /**
   * Installs a bundle, and resolves when RAUC says how that ended. Throws SLOTS_UNAVAILABLE where it goes away, or
   * takes longer than `ms`.
   */
  async install(bundle: string, ms: number, progress: (percent: number) => void): Promise<Installed> {
    const bus = await this.#connected();
    const over = Promise.withResolvers<number>();
    // The waiting call sees the rejection; before and after it there is none.
    over.promise.catch(() => undefined);
    const gone = (reason: string) => over.reject(unavailable('stage the image', reason));
    using completed = await bus.watch(
      { sender: NAME, path: '/', interface: INSTALLER, member: 'Completed' },
      ({ body }) => over.resolve(Number(body[0])),
    );
    using changed = await bus.watch(
      { sender: NAME, path: '/', interface: PROPERTIES, member: 'PropertiesChanged' },
      ({ body }) => {
        const told = (plain(body[1]) as Members).get('Progress');
        if (Array.isArray(told)) progress(Number(told[0]));
      },
    );
    const name = { sender: BUS, interface: BUS, member: 'NameOwnerChanged', first: NAME };
    using owner = await bus.watch(name, ({ body }) => {
      if (body[2] === '') gone('RAUC went away while it installed');
    });
    void [completed, changed, owner];
    void bus.ended.then(() => gone('the bus of the system went away while RAUC installed'));
    await this.call('InstallBundle', 'sa{sv}', [bundle, new Map()]);
    const result = await this.#scope
      .within('RAUC', ms, () => over.promise)
      .catch((thrown: unknown) => {
        if (thrown instanceof CoreError && thrown.code === 'TIMEOUT')
          throw unavailable('stage the image', `RAUC did not say in ${ms} ms that it has installed it`);
        throw thrown;
      });
    return { result, error: String(await this.property('LastError')) };
  }

  /** `CanReboot`, `CanPowerOff`, `Reboot` and `PowerOff` of logind. */
  async login(member: string, ask?: boolean): Promise<unknown> {
    const call = { destination: LOGIN, path: '/org/freedesktop/login1', interface: `${LOGIN}.Manager`, member };
    const [said] = await this.#ask(ask === undefined ? call : { ...call, signature: 'b', body: [ask] });
    return said;
  }

  async #ask(call: Parameters<DBus['call']>[0]): Promise<readonly unknown[]> {
    const bus = await this.#connected();
    try {
      return (await bus.call(call)).map(plain);
    } catch (error) {
      throw isNobody(error) ? unavailable('ask RAUC', reasonOf(error)) : error;
    }
  }

  async #connected(): Promise<DBus> {
    this.#bus ??= connectDBus({ path: this.#path, scope: this.#scope });
    const connecting = this.#bus;
    try {
      const bus = await connecting;
      void bus.ended.then(() => {
        if (this.#bus === connecting) this.#bus = undefined;
      });
      return bus;
    } catch (error) {
      this.#bus = undefined;
      throw unavailable('ask RAUC', `the bus of the system cannot be reached: ${reasonOf(error)}`);
    }
  }
}

export const unavailable = (verb: string, reason: string): CoreError =>
  new CoreError('SLOTS_UNAVAILABLE', { verb, reason });

/** There is no RAUC, no bus, or no answer in time: what it would say is not known. */
const isNobody = (error: unknown): boolean =>
  (error instanceof CoreError && error.code === 'TIMEOUT') ||
  (error instanceof DBusError && /\.(ServiceUnknown|NameHasNoOwner|NoReply|Disconnected)$|Spawn\./.test(error.error));

/** Without the wrapping of types that a variant has. */
function plain(value: unknown): unknown {
  if (value instanceof Variant) return plain(value.value);
  if (value instanceof Map) return new Map([...value].map(([key, one]) => [key, plain(one)]));
  return Array.isArray(value) ? value.map(plain) : value;
}
