/** Link as the rest of the device sees it: `bridge.link` events, one line in the log, and the end of the first attempt. */
import { afterOwnTime, type Bus, type Logger, maybe } from '@device-core/plugin-api';
import type { LinkState } from '@device-core/plugin-api/services/bridge';
import { type Host, STOPPED } from './host.ts';

/** Publishes `bridge.link {state, reason?, sid?}`. The greetings of a link that stays down are not news. */
export function announceLink(host: Host, bus: Bus, log: Logger): Disposable {
  let last: LinkState = 'down';
  let told = false;
  return host.onLink((state, reason) => {
    if ((state === 'hello' && last === 'down') || (state === last && told)) return;
    last = state;
    told = true;
    const sid = host.link.session?.sid;
    const news = { state, ...maybe({ reason, sid }) };
    bus.publish('bridge.link', news);
    if ((state === 'down' && reason !== STOPPED) || state === 'degraded') log.warn(news, `the bridge link is ${state}`);
    else log.info(news, `the bridge link is ${state}`);
  });
}

/** Resolves when the link is up, has failed once, or `waitMs` of run time are over: a device is ready with its bridge. */
export async function firstAttempt(host: Host, waitMs: number): Promise<void> {
  if (waitMs === 0) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  using _link = host.onLink((state) => {
    if (state !== 'hello') resolve();
  });
  using _limit = afterOwnTime(host.clock, waitMs, () => resolve());
  await promise;
}
