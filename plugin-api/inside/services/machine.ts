import { serviceRef } from '../../contract/service-ref.ts';

export const MACHINE_ACTS = ['restart', 'reboot', 'powerOff'] as const;
/** `restart`: the Core alone. */
export type MachineAct = (typeof MACHINE_ACTS)[number];

/** Ends and starts the Core and the device, through whoever may. Provided by the plugins that provide `slots`. */
export interface Machine {
  /** Acts that can be done here, and why another cannot. */
  able(): Promise<{ readonly acts: readonly MachineAct[]; readonly reason?: string }>;
  /** Resolves when it is under way; the Core is told to end soon after. Throws SLOTS_UNAVAILABLE. */
  act(act: MachineAct, options?: { readonly safeMode?: boolean }): Promise<void>;
}

export const machine = serviceRef<Machine>('machine', '1.0.0', 'tree');
