import type { Logger } from '@device-core/plugin-api';
import { redact } from '@device-core/plugin-api/inside/redact';
import type { Peer } from '../remote/index.ts';

const LINE = 8_192;

/** Lines of level debug that may come until the next heartbeat; undefined if they are not wanted. */
export type DebugCredit = { lines?: number | undefined };
export const grant = (credit: DebugCredit, on: boolean) => Object.assign(credit, { lines: on ? 100 : undefined });

/** Lines of a guest go to the host's log; while the host has much of it to hear they are dropped, counted and told. */
export function guestLog(border: () => Peer, credit: DebugCredit = {}): Logger {
  const level = (name: keyof Logger) => {
    let dropped = 0;
    return (fields: object, message: string) => {
      if (name === 'debug' && credit.lines === undefined) return;
      const peer = border();
      if (peer.isFull || (name === 'debug' && credit.lines!-- <= 0)) return void dropped++;
      const told = `${dropped} lines were dropped: the Core has much to hear`;
      if (dropped > 0) peer.notify('log', name === 'debug' ? name : 'warn', { dropped }, told);
      dropped = 0;
      peer.notify('log', name, plain(redact(fields)) as object, String(message).slice(0, LINE));
    };
  };
  return { debug: level('debug'), info: level('info'), warn: level('warn'), error: level('error') };
}

/** Redacted values are plain but for functions and symbols, and may be long. */
function plain(value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value === 'string') return value.slice(0, LINE);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)]));
}
