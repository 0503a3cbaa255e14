import type { Scope } from '@device-core/plugin-api';
import type { Peer } from '@device-core/plugin-api/inside/dbus-peer';
import type { PowerState } from '@device-core/plugin-api/services/power';
import { type Marks, onBattery, onMains, type Provider } from './provider.ts';

export const UPOWER = 'org.freedesktop.UPower';
const PATH = '/org/freedesktop/UPower';
/** All batteries of the device as one. */
const WHOLE = `${PATH}/devices/DisplayDevice`;
const WHAT_COUNTS: readonly string[] = ['OnBattery', 'IsPresent', 'Percentage', 'State', 'Type'];
/** Value of the property State. */
const CHARGING = 1;
/** Value of the property Type. */
const BATTERY = 2;

export class UPower implements Provider {
  readonly name = 'upower';
  readonly #peer: Peer;
  readonly #marks: Marks;

  private constructor(peer: Peer, marks: Marks) {
    this.#peer = peer;
    this.#marks = marks;
  }

  static async open(peer: Peer, scope: Scope, marks: Marks, changed: () => void): Promise<UPower> {
    const heard = (names: readonly string[]): void => {
      if (names.some((name) => WHAT_COUNTS.includes(name))) changed();
    };
    for (const path of [PATH, WHOLE]) scope.use(`state of ${path}`, await peer.onProperties(path, heard));
    return new UPower(peer, marks);
  }

  async look(): Promise<PowerState> {
    const [all, whole] = await Promise.all([
      this.#peer.properties(PATH, UPOWER),
      this.#peer.properties(WHOLE, `${UPOWER}.Device`),
    ]);
    const battery = whole.get('IsPresent') === true && whole.get('Type') === BATTERY;
    const level = battery ? Number(whole.get('Percentage')) / 100 : undefined;
    if (all.get('OnBattery') === true) return onBattery(level, this.#marks);
    return onMains(level, battery && whole.get('State') === CHARGING);
  }
}
