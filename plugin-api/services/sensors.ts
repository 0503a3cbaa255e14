import { serviceRef } from '../contract/service-ref.ts';

/** One figure of a sensor. */
export interface SensorQuantity {
  /** UCUM: `Cel`, `%`, `hPa`, `lx`, `mm`; `1` for a number without unit, `bool` for a state. */
  readonly unit: string;
  readonly min?: number;
  readonly max?: number;
}

export interface SensorDescription {
  /** `^[a-z][a-z0-9-]{0,31}$`; the scope of the capability `sensors.<name>`. */
  readonly name: string;
  readonly title: string;
  /** `BME280` */
  readonly chip?: string;
  readonly quantities: Readonly<Record<string, SensorQuantity>>;
  /** Milliseconds between two readings that the sensor can bear. */
  readonly leastIntervalMs: number;
}

export interface SensorReading {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

/** Interface of a driver. Rejects with the codes of its bus, or SENSOR_FAILED. */
export interface SensorSource {
  read(options: { readonly signal: AbortSignal; readonly deadline: number }): Promise<SensorReading>;
}

export interface SensorInfo extends SensorDescription {
  /** Plugin that drives it. */
  readonly owner: string;
  readonly readings: number;
  readonly failures: number;
  readonly latest?: SensorReading;
  /** Why the latest attempt failed. */
  readonly problem?: string;
}

/** Sensors by name, of any hardware. */
export interface Sensors {
  /** Throws SENSOR_CONFLICT, PARAMS_INVALID (name). Disposing removes it. */
  register(description: SensorDescription, source: SensorSource, owner: string): AsyncDisposable;
  list(): Promise<readonly SensorInfo[]>;
  /**
   * Readers at the same time share one reading; one that is younger than the least interval is given again. Rejects
   * with SENSOR_NOT_FOUND, SENSOR_FAILED, TIMEOUT.
   */
  read(name: string, options?: { readonly signal?: AbortSignal; readonly deadline?: number }): Promise<SensorReading>;
  /** Reads again and again; health reports a failed reading, and the listener gets none. */
  subscribe(name: string, intervalMs: number, listener: (reading: SensorReading) => void): Disposable;
}

export const sensors = serviceRef<Sensors>('sensors', '1.0.0', 'open');
