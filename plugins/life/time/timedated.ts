import { CoreError, type Scope } from '@device-core/plugin-api';
import { DBusError } from '@device-core/plugin-api/inside/dbus';
import type { Peer } from '@device-core/plugin-api/inside/dbus-peer';
import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';
import type { Provider } from './provider.ts';
import type { SetFlag } from './set-flag.ts';
import { isZone } from './zone.ts';

export const TIMEDATED = 'org.freedesktop.timedate1';
const PATH = '/org/freedesktop/timedate1';

export class Timedated implements Provider {
  readonly name = 'timedated';
  readonly #peer: Peer;
  readonly #flag: SetFlag;
  #zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

  private constructor(peer: Peer, flag: SetFlag) {
    this.#peer = peer;
    this.#flag = flag;
  }

  static async open(peer: Peer, scope: Scope, flag: SetFlag, changed: () => void): Promise<Timedated> {
    const time = new Timedated(peer, flag);
    scope.use(
      'zone of the system',
      await peer.onProperties(PATH, () => {
        time.#zone = '';
        changed();
      }),
    );
    time.#zone = '';
    return time;
  }

  async look(): Promise<WallTimeState> {
    const set = await this.#flag.look();
    // It ends by itself when nobody asks: it is started again only for what it alone knows.
    if (this.#zone === '' || !set) {
      const told = await this.#peer.properties(PATH, TIMEDATED);
      if (told.get('NTPSynchronized') === true) this.#flag.known();
      const zone = String(told.get('Timezone') ?? '');
      this.#zone = isZone(zone) ? zone : Intl.DateTimeFormat().resolvedOptions().timeZone;
    }
    return { set: await this.#flag.look(), zone: this.#zone };
  }

  async setZone(zone: string): Promise<void> {
    try {
      await this.#peer.call([PATH, TIMEDATED], 'SetTimezone', 'sb', [zone, false]);
    } catch (error) {
      if (!(error instanceof DBusError)) throw error;
      const may = /AccessDenied|AuthorizationRequired|PermissionDenied/.test(error.error)
        ? `a rule of polkit must let this service do so (${error.error})`
        : error.message;
      throw new CoreError('UNAVAILABLE', { what: 'the time zone of the system', reason: may }, { cause: error });
    }
    this.#zone = '';
  }
}
