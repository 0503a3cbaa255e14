/** Is a new version as good as it should be? READY in time, no crash, and its health never an error, for as long as a probation takes. */

import { CoreError } from '@device-core/plugin-api';
import { type AppStatus, stateText } from '@device-core/plugin-api/services/apps';
import type { Parts } from './parts.ts';

/** Milliseconds between two questions for the health of an app. */
const LOOK_MS = 2_000;
const TROUBLED: readonly string[] = ['backoff', 'failed', 'quarantined'];
const LAST_LINES = 12;

/** Why an app in this state cannot be kept; undefined where it can. */
function fault({ state, reason, health }: AppStatus): string | undefined {
  if (TROUBLED.includes(state)) return `it ${stateText(state)}${reason === undefined ? '' : `: ${reason}`}`;
  if (health?.status === 'error') return `its health is an error${health.message ? `: ${health.message}` : ''}`;
  return undefined;
}

/** Starts it where it does not run, and resolves when it does. Resolves with why it cannot be kept, else undefined. */
export async function startFault({ apps }: Parts, id: string, version: string): Promise<string | undefined> {
  let status = await apps.status(id);
  if (status.version !== version) return `${status.version} runs in its place`;
  if (status.state !== 'running') status = await apps.start(id);
  return status.state === 'running' ? undefined : (fault(status) ?? `it ${stateText(status.state)}`);
}

/**
 * Resolves when the time is over, or as soon as it cannot be kept, with the reason. What somebody stops meanwhile is
 * not held against it.
 */
export async function probationFault({ apps, scope, config }: Parts, id: string): Promise<string | undefined> {
  const found = Promise.withResolvers<string | undefined>();
  using _ = apps.onChange((status) => {
    if (status.id !== id) return;
    const reason = fault(status);
    if (reason !== undefined) found.resolve(reason);
    else if (status.state === 'stopped') found.resolve(undefined);
  });
  const look = async (left: number): Promise<void> => {
    const status = await apps.status(id);
    const reason = fault(status);
    if (reason !== undefined || left <= 0 || status.state === 'stopped') return found.resolve(reason);
    const ms = Math.min(left, LOOK_MS);
    timer = scope.timeout(`probation of ${id}`, ms, () => look(left - ms).catch(found.reject));
  };
  let timer: Disposable | undefined;
  look(config.probationMs).catch(found.reject);
  try {
    return await found.promise;
  } finally {
    timer?.[Symbol.dispose]();
  }
}

interface Failed {
  readonly app: string;
  readonly name: string;
  readonly version: string;
  readonly reason: string;
  /** Version that comes back. */
  readonly former?: string | undefined;
}

/** The error of a version that failed, with the last lines that it wrote. */
export async function rolledBack(
  { optional }: Parts,
  { app, name, version, reason, former }: Failed,
): Promise<CoreError> {
  const outcome = former === undefined ? 'it is removed, its data are kept' : `${former} comes back`;
  const lines = (await optional.supervisor?.output(name, LAST_LINES).catch(() => [])) ?? []; // nobody knows them any more
  return new CoreError('APP_ROLLED_BACK', {
    app,
    version,
    reason,
    outcome,
    lines: lines.map(({ text }) => text),
  });
}
