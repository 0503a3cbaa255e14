/** The simulated device as one thing: its bridge, what is around it, and the plugins that do the rest. */

import { type CallContext, CoreError, type Scope } from '@device-core/plugin-api';
import type { BridgeSimulator, BridgeView } from '@device-core/plugin-api/inside/services/bridge-simulator';
import type {
  NetworkSimulator,
  PowerSimulator,
  WallTimeSimulator,
} from '@device-core/plugin-api/inside/services/simulators';
import type { NetworkState } from '@device-core/plugin-api/services/network';
import type { Operations } from '@device-core/plugin-api/services/operations';
import type { PowerState } from '@device-core/plugin-api/services/power';
import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';
import type { Control } from './controls.ts';
import { ndefMessage, type TagRecords } from './ndef.ts';

export type Params = Readonly<Record<string, unknown>>;
/** Caller of an operation, with its signal and deadline. */
export type Asking = Pick<CallContext, 'caller' | 'signal' | 'deadline'>;

export interface DeviceParts {
  readonly operations: Pick<Operations, 'invoke'>;
  /** Line of the motion detector. */
  readonly motion: { readonly endpoint: string; readonly line: number };
  /** Something can be seen that could not be seen before. */
  readonly changed: () => void;
}

/** Surroundings of the device; an absent member was never set. */
export interface Surroundings {
  readonly network?: Params;
  readonly power?: Params;
  readonly time?: Params;
  /** The cable of the panel was pulled by this plugin. */
  readonly unplugged?: true;
}

/** Services of simulating plugins that the simulator steers; each is there while its plugin runs. */
export interface Steered {
  network?: NetworkSimulator | undefined;
  power?: PowerSimulator | undefined;
  time?: WallTimeSimulator | undefined;
}

export class SimulatedDevice {
  readonly #steered: Steered = {};
  readonly #parts: DeviceParts;
  #bridge: BridgeSimulator | undefined;
  #watching: Disposable | undefined;
  #watchers = 0;
  /** Bridge at the last look, while there is a watcher. */
  #view: BridgeView | undefined;
  #surroundings: Surroundings = {};

  constructor(parts: DeviceParts) {
    this.#parts = parts;
  }

  get surroundings(): Surroundings {
    return this.#surroundings;
  }

  steer<K extends keyof Steered>(what: K, steered: Steered[K], while_: Scope): void {
    this.#steered[what] = steered;
    while_.defer(what, () => {
      this.#steered[what] = undefined;
    });
  }

  use(bridge: BridgeSimulator | undefined): void {
    this.#watching?.[Symbol.dispose]();
    this.#watching = undefined;
    this.#view = undefined;
    this.#bridge = bridge;
    if (this.#watchers > 0) this.#watch();
    this.#parts.changed();
  }

  /** Watches the bridge; it is looked at only while there is a watcher. */
  watch(): Disposable {
    this.#watchers += 1;
    if (this.#watchers === 1) this.#watch();
    return {
      [Symbol.dispose]: () => {
        this.#watchers -= 1;
        if (this.#watchers > 0) return;
        this.#watching?.[Symbol.dispose]();
        this.#watching = undefined;
        this.#view = undefined;
      },
    };
  }

  /** View of the bridge; undefined where it is not there. */
  async view(): Promise<BridgeView | undefined> {
    if (this.#view) return this.#view;
    try {
      return (await this.#bridge?.control('state', {}))?.state as BridgeView | undefined;
    } catch (error) {
      if (error instanceof CoreError && error.code === 'UNAVAILABLE') return undefined;
      throw error;
    }
  }

  /** Does what a control says. Rejects with what the simulator or the operation behind it answers. */
  async run(control: Control, params: Params, asking: Asking): Promise<object> {
    if (control.operation) {
      await this.#parts.operations.invoke(control.operation, params, asking);
      if (control.id === 'cable') this.#become({ unplugged: params.plugged !== true });
      return {};
    }
    switch (control.id) {
      case 'network':
        await this.#plugin('network').simulate(params as unknown as NetworkState);
        return this.#said('network', params);
      case 'power':
        await this.#plugin('power').simulate(params as unknown as PowerState);
        return this.#said('power', params);
      case 'time':
        return this.#time(params);
      case 'presence':
        return this.#control('drive', { ...this.#parts.motion, level: params.moving ? 1 : 0 });
      case 'weather':
        return this.#weather(params);
      case 'tag':
        return this.#tag(params, tagOf(params));
      case 'untag':
        return this.#tag(params, null);
      case 'heal':
        return this.#heal(asking);
      default:
        return this.#control(control.id, params);
    }
  }

  #watch(): void {
    this.#watching = this.#bridge?.onView((view) => {
      this.#view = view;
      this.#parts.changed();
    });
  }

  #control(name: string, value: object): Promise<object> {
    if (!this.#bridge) {
      const details = { what: 'the bridge simulator', reason: 'plugin port-sim does not run' };
      return Promise.reject(new CoreError('UNAVAILABLE', details));
    }
    return this.#bridge.control(name, value);
  }

  #become({ unplugged, ...rest }: { unplugged?: boolean; network?: Params; power?: Params; time?: Params }): void {
    const { unplugged: was, ...surroundings } = this.#surroundings;
    this.#surroundings = { ...surroundings, ...rest, ...((unplugged ?? was) && { unplugged: true as const }) };
    this.#parts.changed();
  }

  #plugin<K extends keyof Steered>(what: K): NonNullable<Steered[K]> {
    const steered = this.#steered[what];
    if (steered) return steered;
    throw new CoreError('UNAVAILABLE', { what: `the simulated ${what}`, reason: `plugin ${what} does not run` });
  }

  #said(what: keyof Steered, params: Params): object {
    this.#become({ [what]: params });
    return {};
  }

  async #time({ set, zone }: Params): Promise<object> {
    const told = { set: set !== false, zone: String(zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone) };
    await this.#plugin('time').simulate(told satisfies WallTimeState);
    return this.#said('time', told);
  }

  async #weather({ endpoint, address, ...change }: Params): Promise<object> {
    return this.#control('chip', { ...(await this.#place('bme280', endpoint, address)), change });
  }

  async #tag({ endpoint, address }: Params, tag: object | null): Promise<object> {
    return this.#control('chip', { ...(await this.#place('pn532', endpoint, address)), change: { tag } });
  }

  async #heal(asking: Asking): Promise<object> {
    await this.#control('heal', {});
    if (this.#surroundings.unplugged) {
      await this.#parts.operations.invoke('panel.plug', { plugged: true }, asking);
      this.#become({ unplugged: false });
    }
    return {};
  }

  /** The chip that is named, or the first of its kind. */
  async #place(kind: string, endpoint: unknown, address: unknown): Promise<object> {
    if (endpoint !== undefined && address !== undefined) return { endpoint, address };
    const view = (await this.#control('state', {})) as { readonly state: BridgeView };
    for (const { label, chips = [] } of view.state.endpoints) {
      const chip = chips.find((one) => one.kind === kind && (address === undefined || one.address === address));
      if (chip && (endpoint === undefined || endpoint === label)) return { endpoint: label, address: chip.address };
    }
    throw new CoreError('PARAMS_INVALID', { where: 'the request', reason: `the board has no such ${kind}` });
  }
}

function tagOf(params: Params): object {
  const { uid, locked } = params;
  return { uid, locked, ndef: ndefMessage(params as TagRecords).toString('hex') };
}
