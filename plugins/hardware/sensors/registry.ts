/** Sensors by name: readings are shared by those who ask at the same time, and never taken more often than a sensor bears. */
import { CoreError, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import type {
  SensorDescription,
  SensorInfo,
  SensorReading,
  SensorSource,
  Sensors,
} from '@device-core/plugin-api/services/sensors';

const NAME = /^[a-z][a-z0-9-]{0,31}$/;

interface Row {
  readonly description: SensorDescription;
  readonly source: SensorSource;
  readonly owner: string;
  readings: number;
  failures: number;
  latest: SensorReading | undefined;
  /** When the latest was taken. */
  takenAt: number;
  running: Promise<SensorReading> | undefined;
  problem: string | undefined;
  /** It is not the sensor that fails: there is nothing to read it through yet. */
  waits: boolean;
}

export class Registry implements Sensors {
  readonly #rows = new Map<string, Row>();
  readonly #scope: Scope;
  readonly #readMs: number;

  constructor(scope: Scope, readMs: number) {
    this.#scope = scope;
    this.#readMs = readMs;
  }

  register(description: SensorDescription, source: SensorSource, owner: string): AsyncDisposable {
    const { name } = description;
    if (!NAME.test(name))
      throw new CoreError('PARAMS_INVALID', {
        where: 'name',
        reason: `${name} is no name of a sensor: ${NAME.source}`,
      });
    const other = this.#rows.get(name);
    if (other) throw new CoreError('SENSOR_CONFLICT', { sensor: name, owner: other.owner });
    const counts = { readings: 0, failures: 0, latest: undefined, takenAt: Number.NEGATIVE_INFINITY };
    const row: Row = { description, source, owner, ...counts, running: undefined, problem: undefined, waits: false };
    this.#rows.set(name, row);
    return {
      [Symbol.asyncDispose]: async () => {
        if (this.#rows.get(name) === row) this.#rows.delete(name);
      },
    };
  }

  names(): readonly string[] {
    return [...this.#rows.keys()];
  }

  async list(): Promise<readonly SensorInfo[]> {
    return [...this.#rows.values()].map(({ description, owner, readings, failures, latest, problem }) => ({
      ...description,
      owner,
      readings,
      failures,
      ...maybe({ latest, problem }),
    }));
  }

  /** Those whose latest attempt failed. */
  get troubled(): readonly { readonly name: string; readonly problem: string; readonly waits: boolean }[] {
    return [...this.#rows.values()].flatMap(({ description, problem, waits }) =>
      problem === undefined ? [] : [{ name: description.name, problem, waits }],
    );
  }

  async read(
    name: string,
    options: { readonly signal?: AbortSignal; readonly deadline?: number } = {},
  ): Promise<SensorReading> {
    const row = this.find(name);
    if (row.latest && performance.now() - row.takenAt < row.description.leastIntervalMs) return row.latest;
    row.running ??= this.#take(row).finally(() => {
      row.running = undefined;
    });
    return this.#patiently(row.running, name, options);
  }

  subscribe(name: string, intervalMs: number, listener: (reading: SensorReading) => void): Disposable {
    const part = this.#scope.child(`readings of ${name}`);
    const row = this.#rows.get(name);
    part.interval(name, Math.max(intervalMs, row?.description.leastIntervalMs ?? 0), async () => {
      try {
        listener(await this.read(name));
      } catch (error) {
        if (!(error instanceof CoreError)) throw error; // the others are told in health
      }
    });
    return { [Symbol.dispose]: () => void part[Symbol.asyncDispose]() };
  }

  /** Throws SENSOR_NOT_FOUND. */
  find(name: string): Row {
    const row = this.#rows.get(name);
    if (!row) throw new CoreError('SENSOR_NOT_FOUND', { sensor: name });
    return row;
  }

  /** Another may still wait for the reading that this one gives up. */
  async #patiently(
    reading: Promise<SensorReading>,
    name: string,
    { signal, deadline }: { readonly signal?: AbortSignal; readonly deadline?: number },
  ): Promise<SensorReading> {
    if (signal === undefined && deadline === undefined) return reading;
    const ms = deadline === undefined ? Number.POSITIVE_INFINITY : Math.max(0, deadline - this.#scope.clock.steady());
    return this.#scope.within(`the reading of ${name}`, ms, () => reading, { signal });
  }

  async #take(row: Row): Promise<SensorReading> {
    const { name } = row.description;
    try {
      const ms = this.#readMs;
      const deadline = this.#scope.clock.steady() + ms;
      const read = (signal: AbortSignal) => row.source.read({ signal, deadline });
      const reading = await this.#scope.within(`the reading of ${name}`, ms, read);
      row.readings++;
      row.latest = reading;
      row.takenAt = performance.now();
      row.problem = undefined;
      return reading;
    } catch (error) {
      row.failures++;
      row.problem = reasonOf(error);
      row.waits = error instanceof CoreError && error.code === 'NOT_INITIALIZED';
      if (error instanceof CoreError && (error.code === 'TIMEOUT' || error.code === 'SENSOR_FAILED')) throw error;
      throw new CoreError('SENSOR_FAILED', { sensor: name, reason: reasonOf(error) }, { cause: error });
    }
  }
}
