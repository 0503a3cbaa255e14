import { CoreError } from '@device-core/plugin-api';
import type { AppSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { PingLimits } from './liveness.ts';

/** The name of the request: an app need not know it, for any answer is life. */
const METHOD = 'ping';
const CALLER = 'plugin.apps';

/** The manifest's word, and for what it does not say the device's. */
export function pingLimits(
  usual: PingLimits,
  { intervalMs, timeoutMs, failures }: NonNullable<NonNullable<AppManifest['health']>['liveness']> = {},
): PingLimits {
  return {
    everyMs: intervalMs ?? usual.everyMs,
    limitMs: timeoutMs ?? usual.limitMs,
    misses: failures ?? usual.misses,
  };
}

let count = 0;

/**
 * Asks all sessions of an app. True as soon as one of them has answered, were it with an error; false where there is
 * none to ask. Pending while none has answered.
 */
export async function pingApp(
  sockets: AppSockets,
  app: string,
  sessions: readonly string[],
  { limitMs }: PingLimits,
  signal: AbortSignal,
): Promise<boolean> {
  const { promise: never } = Promise.withResolvers<never>();
  const ask = async (session: string): Promise<boolean> => {
    const meta = { callId: `ping-${++count}`, version: '1.0.0', deadlineMs: LONGEST * limitMs, caller: CALLER };
    try {
      await sockets.call(app, { method: METHOD, params: {}, meta, session, signal, urgent: true });
      return true;
    } catch (thrown) {
      const code = thrown instanceof CoreError ? thrown.code : undefined;
      if (code === 'APP_ERROR') return true;
      if (code === 'TIMEOUT' || code === 'CANCELLED') return await never;
      throw thrown;
    }
  };
  return await Promise.any(sessions.map(ask)).catch(() => false);
}

/** The limit may be stretched; the sockets' own comes after it. */
const LONGEST = 10;
