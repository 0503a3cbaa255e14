/** Functions that apps offer and the registry does not have: each with the reason, and with the capability that is missing. */
import { type Capabilities, type CapabilityId, CoreError, grantHint } from '@device-core/plugin-api';
import type { FunctionEntry, FunctionLeftOut } from '@device-core/plugin-api/services/functions';
import type { Registered } from './entry.ts';

/** Most waiting functions of an app: the manifest bounds its offers, but not repetitions under other names. */
const MOST_PER_APP = 256;

interface Waiting {
  readonly app: string;
  readonly entry: FunctionEntry;
  readonly told: FunctionLeftOut;
}

export class LeftOutFunctions {
  readonly #capabilities: Capabilities;
  readonly #apps = new Map<string, readonly Waiting[]>();

  constructor(capabilities: Capabilities) {
    this.#capabilities = capabilities;
  }

  get size(): number {
    return this.#apps.size;
  }

  add(app: string, given: unknown, error: CoreError): void {
    const entry = Object(given) as FunctionEntry;
    const { capability, hint } = error.details;
    const denied = error.code === 'CAPABILITY_DENIED';
    const told = {
      ...named(app, entry),
      code: error.code,
      reason: denied ? `its app does not hold ${capability}` : error.message,
      ...(denied && { capability: String(capability), hint: String(hint) }),
    };
    const kept = this.#apps.get(app) ?? [];
    if (kept.length < MOST_PER_APP) this.#apps.set(app, [...kept, { app, entry, told }]);
  }

  remove(app: string, name?: string, version?: string): void {
    const kept = (this.#apps.get(app) ?? []).filter(
      ({ entry }) =>
        (name !== undefined && entry.name !== name) || (version !== undefined && entry.version !== version),
    );
    if (kept.length > 0) this.#apps.set(app, kept);
    else this.#apps.delete(app);
  }

  list(app?: string): readonly FunctionLeftOut[] {
    const apps = app === undefined ? [...this.#apps.keys()].toSorted() : [app];
    return apps.flatMap((one) => this.#apps.get(one) ?? []).map(({ told }) => told);
  }

  /** Those whose capability is held by now. */
  granted(): readonly { readonly app: string; readonly entry: FunctionEntry }[] {
    return [...this.#apps.values()].flat().filter(({ app, told: { capability } }) => {
      return capability !== undefined && this.#capabilities.holds({ kind: 'app', id: app }, capability as CapabilityId);
    });
  }

  /** FUNCTION_NOT_FOUND says why there is none; any other error stays what it is. */
  explained(thrown: unknown, name: string, app?: string): unknown {
    if (!(thrown instanceof CoreError) || thrown.code !== 'FUNCTION_NOT_FOUND' || thrown.details.candidates)
      return thrown;
    const found = this.list(app).find((one) => one.name === name);
    if (!found) return thrown;
    const { code, capability, hint } = found;
    const why =
      capability === undefined ? found.reason : `${found.app} does not hold ${capability}; grant it with "${hint}"`;
    return new CoreError('FUNCTION_NOT_FOUND', {
      name,
      reason: ` of ${found.app}: it is left out, because ${why}`,
      app: found.app,
      cause: code,
      ...(capability === undefined ? {} : { capability, hint }),
    });
  }
}

/** A function that is registered and whose app has lost a capability of it since; undefined where it has them all. */
export function lacks(
  capabilities: Capabilities,
  { app, entry, permissions }: Registered,
): FunctionLeftOut | undefined {
  const caller = { kind: 'app', id: app } as const;
  const capability = permissions.find((permission) => !capabilities.holds(caller, permission as CapabilityId));
  if (capability === undefined) return undefined;
  const hint = grantHint(caller, capability);
  const reason = `its app does not hold ${capability} any more`;
  return { ...named(app, entry), code: 'CAPABILITY_DENIED', reason, capability, hint };
}

/** In one sentence, with the line that would help. */
export function explain({ reason, hint }: FunctionLeftOut): string {
  return hint === undefined ? reason : `${reason}; grant it with "${hint}"`;
}

/** Whatever the app wrote, in texts that can be shown. */
function named(app: string, { name, version, utterances }: FunctionEntry) {
  const text = (value: unknown) => (typeof value === 'string' ? value.slice(0, 128) : '');
  return {
    app,
    name: text(name) || '(without a name)',
    version: text(version),
    ...(Array.isArray(utterances) && utterances.length > 0 && { utterances }),
  };
}
