import type { PowerState } from '@device-core/plugin-api/services/power';

/** A source of the state on this device: each in a separate file, and one suite for all of them. */
export interface Provider {
  readonly name: 'upower' | 'sysfs' | 'sim';
  look(): Promise<PowerState>;
}

/** From which share of a battery on it is called so. */
export interface Marks {
  readonly lowAt: number;
  readonly criticalAt: number;
}

/** State of a battery of this share while it is not charged. Shares are told in steps of a hundredth. */
export function onBattery(level: number | undefined, { lowAt, criticalAt }: Marks): PowerState {
  if (level === undefined) return { source: 'battery', state: 'ok' };
  const state = level <= criticalAt ? 'critical' : level <= lowAt ? 'low' : 'ok';
  return { source: 'battery', level: hundredths(level), state };
}

export function onMains(level: number | undefined, charging: boolean): PowerState {
  const state = charging ? 'charging' : 'ok';
  return { source: 'mains', ...(level !== undefined && { level: hundredths(level) }), state };
}

const hundredths = (share: number): number => Math.round(Math.min(1, Math.max(0, share)) * 100) / 100;
