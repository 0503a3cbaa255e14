import type { Logger } from '@device-core/plugin-api';
import { redact } from '@device-core/plugin-api';
import type { Peer } from '../remote/index.ts';

const LINE = 8_192;

/** Lines of a guest go to the host's log; while the host has much of it to hear they are dropped, counted and told. */
export function guestLog(border: () => Peer, debug: boolean): Logger {
  let dropped = 0;
  const level = (name: keyof Logger) => (fields: object, message: string) => {
    const peer = border();
    if (peer.isFull) {
      dropped++;
      return;
    }
    if (dropped > 0)
      peer.notify('log', 'warn', { dropped }, `${dropped} lines were dropped: the Core has much to hear`);
    dropped = 0;
    peer.notify('log', name, plain(redact(fields)) as object, String(message).slice(0, LINE));
  };
  return {
    debug: debug ? level('debug') : () => undefined,
    info: level('info'),
    warn: level('warn'),
    error: level('error'),
  };
}

/** Redacted values are plain but for functions and symbols, and may be long. */
function plain(value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value === 'string') return value.slice(0, LINE);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}
