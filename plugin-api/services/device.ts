import { serviceRef } from '../contract/service-ref.ts';

export interface DeviceInfo {
  /** `<service>` of the specification. */
  readonly service: string;
  readonly sku: { readonly id: string; readonly title: string; readonly simulated: boolean };
  readonly core: { readonly version: string; readonly api: string };
  /** Trust without proof: `open` on simulated SKUs in tests only. */
  readonly auth: 'token' | 'open';
  /** Absolute. System defaults, mutable state, and sockets and process ids. */
  readonly paths: { readonly etc: string; readonly var: string; readonly run: string };
  /** Milliseconds since the Unix epoch: names this run of the Core. */
  readonly startedAt: number;
  /** Absolute path of the SKU manifest, where it is a file. */
  readonly skuFile?: string;
  /** Capabilities beyond class `normal` that the SKU grants, by app id or `*`. */
  readonly grants: Readonly<Record<string, readonly string[]>>;
}

/** Identity of this device and the places of its files. Provided by the kernel. */
export interface Device {
  /**
   * As the SKU says now. When its grants change while the device runs, event `plugin.changed` tells; what else changes
   * restarts the plugins that require this service.
   */
  info(): Promise<DeviceInfo>;
}

export const device = serviceRef<Device>('device', '1.0.0', 'open');
