import type { AppEntry, Retained } from './installed.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** What is remembered of an app whose data stay for a while. */
export function retainedOf({ version, dataVersion, signer }: AppEntry, now: number, days: number): Retained {
  return { version, dataVersion, until: now + days * DAY_MS, ...(signer === undefined ? {} : { signer }) };
}
