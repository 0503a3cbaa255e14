import type { UsageWarning } from '../contract/usage.ts';

/** snapd's check-health words. */
export type ComponentStatus = 'okay' | 'waiting' | 'blocked' | 'error';

export interface ComponentHealth {
  readonly status: ComponentStatus;
  readonly code?: string;
  readonly message?: string;
  readonly version?: string;
  /** Milliseconds since the Unix epoch, where known. */
  readonly since?: number;
  /** A budget that it exceeded; the host puts it here, the status stays what it is. */
  readonly warning?: UsageWarning;
}

/** The bridge object of /health (cbp.md section 13). */
export interface BridgeHealth {
  readonly link: 'up' | 'down' | 'resetting';
  readonly [detail: string]: unknown;
}

/** Collects what the taps of `health.collect` add. Names are `<plugin>` or `<plugin>.<part>`. */
export interface HealthReport {
  add(component: string, health: ComponentHealth): void;
  bridge(health: BridgeHealth): void;
  /** Something an operator should know although all works: `auth: open`, a missing optional part. */
  warn(code: string, message: string): void;
}
