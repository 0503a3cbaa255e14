/** Schemas of settings: those of apps, from their manifests, and those that plugins describe for all. */
import { type Logger, reasonOf } from '@device-core/plugin-api';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import { type AppKeys, AppSchema, refusingKeys } from './app-schema.ts';
import { Described } from './described.ts';
import { isBelow } from './keys.ts';
import type { Problems } from './problems.ts';
import { keysOf } from './schema-keys.ts';
import type { StateFile } from './state-file.ts';

export interface AppDescription {
  readonly schema?: JsonSchema;
  readonly defaults?: object;
}

/** Further checks of keys of the device. */
export interface DeviceChecks {
  readonly problems: Problems;
  readonly log: Logger;
  /** Reason why a value of the device is refused, from a further check of the key. */
  readonly refuse?: (key: string, value: unknown) => string | undefined;
  /** JSON pointer of the faulty member of a refused value. */
  readonly place?: (key: string, value: unknown) => string;
}

export class Schemas {
  /** Keys that are described for the device and all apps. */
  readonly device = new Described();
  readonly #apps = new Map<string, AppKeys>();
  /** Overrides of an app that its present schema refuses; they are not served. */
  readonly #misfits = new Map<string, ReadonlySet<string>>();
  readonly #checks: DeviceChecks;

  constructor(checks: DeviceChecks) {
    this.#checks = checks;
  }

  /** Apps with a description. */
  apps(): Iterable<string> {
    return this.#apps.keys();
  }

  ofApp(app: string): AppKeys | undefined {
    return this.#apps.get(app);
  }

  /** Returns the error of a description that cannot be used: no value of the app is taken then. */
  describeApp(app: string, described: AppDescription): unknown {
    this.#misfits.delete(app);
    try {
      this.#apps.set(app, new AppSchema(app, described));
      return undefined;
    } catch (error) {
      this.#apps.set(app, refusingKeys(described.defaults, reasonOf(error)));
      return error;
    }
  }

  isSecret(app: string | undefined, key: string): boolean {
    const schema = app === undefined ? undefined : this.#apps.get(app)?.schema;
    return schema !== undefined && keysOf(schema).some(({ name, secret }) => secret && isBelow(key, name));
  }

  isMisfit(app: string | undefined, key: string): boolean {
    return app !== undefined && this.#misfits.get(app)?.has(key) === true;
  }

  hasMisfits(app: string): boolean {
    return this.#misfits.has(app);
  }

  /** Reason why a value does not fit; undefined where it does. */
  fault(app: string | undefined, key: string, value: unknown): string | undefined {
    if (this.device.owns(key)) return this.device.fault(key, value);
    return app === undefined ? this.#checks.refuse?.(key, value) : this.#apps.get(app)?.fault(key, value);
  }

  /** JSON pointer of the faulty member of a refused value. */
  place(app: string | undefined, key: string, value: unknown): string {
    if (this.device.owns(key)) return this.device.place(key, value);
    const place = app === undefined ? this.#checks.place?.(key, value) : this.#apps.get(app)?.place(key, value);
    return place ?? '';
  }

  /** Looks which overrides in a file the present schema of the app refuses, and reports them. */
  check(app: string, file: StateFile, keys: Iterable<string> = file.keys()): void {
    const misfits = new Set(this.#misfits.get(app));
    for (const key of keys) {
      const held = file.get(key);
      const reason = held && this.fault(app, key, held.value);
      misfits.delete(key);
      if (!reason) continue;
      misfits.add(key);
      const message = `${file.path} sets ${key}, which does not fit the schema of ${app} and is ignored: ${reason}`;
      this.#checks.problems.note(message);
      this.#checks.log.warn({ app, key }, message);
    }
    if (misfits.size > 0) this.#misfits.set(app, misfits);
    else this.#misfits.delete(app);
  }
}
