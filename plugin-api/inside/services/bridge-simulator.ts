import { serviceRef } from '../../contract/service-ref.ts';

/** A line of a simulated GPIO endpoint. */
export interface SimulatedLine {
  readonly direction: 'in' | 'out' | 'open-drain';
  readonly level: 0 | 1;
  /** Level that the outside world drives onto the line; null: none. */
  readonly outside: 0 | 1 | null;
}

export interface SimulatedChip {
  readonly address: number;
  readonly kind: string;
  /** False: it was pulled out. */
  readonly there: boolean;
  /** Values for its sensor: `{temperature, pressure, humidity}` of a bme280, `{tag}` of a pn532. */
  readonly senses?: Readonly<Record<string, unknown>>;
}

/** An endpoint of the simulated board, with the faults that it has. */
export interface SimulatedEndpoint {
  readonly label: string;
  readonly class: string;
  /** Milliseconds before each of its operations starts. */
  readonly slowMs: number;
  /** False: the bridge said that it went. */
  readonly there: boolean;
  readonly lines?: readonly SimulatedLine[];
  readonly chips?: readonly SimulatedChip[];
  /** Recoveries of an I2C bus until it is free; null: it never is. */
  readonly stuck?: number | null;
  /** CAN bus wires are shorted. */
  readonly broken?: boolean;
}

/** The present value of every control of the simulated bridge. */
export interface BridgeView {
  readonly board: string;
  /** Shares of transactions, and the share of bits that are wrong. */
  readonly faults: Readonly<Record<'seed' | 'bitErrorRate' | 'zeroed' | 'stale' | 'slipped' | 'truncated', number>>;
  readonly silent: boolean;
  readonly muted: boolean;
  /** Transactions until it crashes; null: it does not. */
  readonly crashesIn: number | null;
  /** Transactions until its process ends. */
  readonly diesIn: number | null;
  /** Version of the protocol that it claims. */
  readonly major: number;
  readonly endpoints: readonly SimulatedEndpoint[];
}

/** The hand on a simulated bridge: on simulated devices alone. */
export interface BridgeSimulator {
  /**
   * One control by its name, `drive` with `{endpoint, line, level}`; docs/guides/simulator.md has them all. Resolves
   * with what it answers. Rejects with PARAMS_INVALID (the simulator knows no such control, endpoint or chip),
   * UNAVAILABLE (its process is not there), TIMEOUT, BUSY.
   */
  control(name: string, value: object): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Calls `listener` with the view soon and after each change; undefined while the simulator is absent. Without
   * listeners the view is not read.
   */
  onView(listener: (view: BridgeView | undefined) => void): Disposable;
}

export const bridgeSimulator = serviceRef<BridgeSimulator>('bridge-simulator', '1.0.0', 'tree');
