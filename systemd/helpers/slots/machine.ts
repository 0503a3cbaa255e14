import { closeSync, existsSync, fsyncSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type MachineActs, SlotRefused } from '@device-core/plugin-api/inside/slot-files';

/** Real-time signals that systemd takes for orders, systemd(1): SIGRTMIN+4 and SIGRTMIN+5. glibc and musl keep some before SIGRTMIN. */
const POWER_OFF = 34 + 4;
const REBOOT = 34 + 5;

/** Ends the device in order, through its first process: neither a bus nor a program is needed for that. */
export function machineOf(
  system: string,
  { manager = '/run/systemd/system', tell = (signal: number) => void process.kill(1, signal) } = {},
): MachineActs {
  const order = (signal: number): void => {
    if (!existsSync(manager))
      throw new SlotRefused('SLOTS_UNAVAILABLE', 'the first process of this device is not systemd');
    tell(signal);
  };
  return {
    safeMode() {
      const path = join(system, 'boot/safe-mode');
      rmSync(path, { force: true });
      const file = openSync(path, 'wx', 0o644);
      fsyncSync(file);
      closeSync(file);
    },
    reboot: () => order(REBOOT),
    powerOff: () => order(POWER_OFF),
  };
}
