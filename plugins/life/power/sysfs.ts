import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterQuiet, reasonOf, rounds, type Scope } from '@device-core/plugin-api';
import { listenNetlink, type NativeCalls } from '@device-core/plugin-api/inside/netlink';
import type { PowerState } from '@device-core/plugin-api/services/power';
import { type Marks, onBattery, onMains, type Provider } from './provider.ts';

export interface SysfsOptions extends Marks {
  readonly scope: Scope;
  /** `/sys/class/power_supply` */
  readonly sys: string;
  /** A pipe in the place of the kernel's socket. */
  readonly events?: string;
  readonly changed: () => void;
}

interface Supply {
  readonly battery: boolean;
  readonly online: boolean;
  readonly status: string;
  readonly level: number | undefined;
}

const QUIET_MS = 200;
const AGAIN_MS = 1_000;
/** Many drivers of batteries tell when a charger comes, and never how the charge sinks. */
const LOOK_MS = 60_000;
const MOST_SUPPLIES = 32;

/**
 * Chargers and batteries as the kernel reports them. A device without a battery is looked at once, and whenever the
 * kernel reports a change.
 */
export class SysfsPower implements Provider {
  readonly name = 'sysfs';
  readonly #options: SysfsOptions;
  readonly #watchCharge: () => void;
  #battery = false;
  /** Why nothing is told of changes. */
  deaf: string | undefined;

  private constructor(options: SysfsOptions) {
    this.#options = options;
    const { scope, changed } = options;
    this.#watchCharge = rounds({
      scope,
      label: 'look at the battery',
      ms: LOOK_MS,
      run: () => {
        changed();
        return this.#battery;
      },
    });
  }

  static async open(options: SysfsOptions): Promise<SysfsPower> {
    const power = new SysfsPower(options);
    await power.#listen();
    return power;
  }

  async look(): Promise<PowerState> {
    const { sys } = this.#options;
    const names = (await readdir(sys).catch(() => [])).sort().slice(0, MOST_SUPPLIES);
    const supplies = (await Promise.all(names.map((name) => supplyOf(join(sys, name))))).filter(
      (one) => one !== undefined,
    );
    const batteries = supplies.filter(({ battery }) => battery);
    const chargers = supplies.filter(({ battery }) => !battery);
    this.#battery = batteries.length > 0;
    if (!this.#battery) return onMains(undefined, false);
    this.#watchCharge();
    const levels = batteries.map(({ level }) => level).filter((level) => level !== undefined);
    const level = levels.length > 0 ? levels.reduce((sum, one) => sum + one, 0) / levels.length : undefined;
    const charging = batteries.some(({ status }) => status === 'Charging');
    const empties = batteries.some(({ status }) => status === 'Discharging');
    // Without a charger in the list the battery tells whether it is charged.
    const mains = chargers.length > 0 ? chargers.some(({ online }) => online) : !empties;
    return mains || charging ? onMains(level, charging) : onBattery(level, this.#options);
  }

  async #listen(): Promise<void> {
    const { scope, events, changed } = this.#options;
    if (scope.signal.aborted) return;
    const heard = afterQuiet({ scope, label: () => 'change of power', ms: QUIET_MS, run: changed });
    try {
      await listenNetlink({
        scope,
        native: async () => (await import('koffi')).default as unknown as NativeCalls,
        from: events === undefined ? 'devices' : { pipe: events },
        hear: (bytes) => {
          if (Buffer.from(bytes).includes('power_supply')) heard();
        },
        over: (reason) => {
          this.deaf = reason;
          changed();
          scope.timeout('listen to the kernel again', AGAIN_MS, () => this.#listen());
        },
      });
      this.deaf = undefined;
    } catch (error) {
      this.deaf = reasonOf(error);
    }
  }
}

/** Undefined: it is no supply of the device itself, as the battery of a mouse. */
async function supplyOf(folder: string): Promise<Supply | undefined> {
  const read = (file: string): Promise<string> =>
    readFile(join(folder, file), 'utf8').then(
      (text) => text.trim(),
      () => '', // it went, or has no such file
    );
  const [type, scope, present, online, status, capacity] = await Promise.all(
    ['type', 'scope', 'present', 'online', 'status', 'capacity'].map(read),
  );
  if (type === '' || scope === 'Device' || present === '0') return undefined;
  const level = /^\d+$/.test(capacity!) ? Number(capacity) / 100 : undefined;
  return {
    battery: type === 'Battery' || type === 'UPS',
    online: online !== '0' && online !== '',
    status: status!,
    level,
  };
}
