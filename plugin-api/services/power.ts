import { serviceRef } from '../contract/service-ref.ts';

/** Payload of `system.power`. */
export interface PowerState {
  readonly source: 'mains' | 'battery';
  /** 0 to 1, of the battery. */
  readonly level?: number;
  readonly state: 'ok' | 'charging' | 'low' | 'critical' | 'shutting-down';
  readonly reason?: string;
}

export interface PowerStatus extends PowerState {
  /** `upower`, `sysfs`, `sim` */
  readonly provider: string;
}

/** Source of the device's power. The service publishes `system.power` by itself. */
export interface Power {
  status(): Promise<PowerStatus>;
}

export const power = serviceRef<Power>('power', '1.0.0', 'open');
