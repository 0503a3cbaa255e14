import { maybe } from '@device-core/plugin-api';
import type { DBusValue } from '@device-core/plugin-api/inside/dbus';
import type { GuestUsage } from '@device-core/plugin-api/inside/services/app-supervisor';

/** Value of systemd for a property that it does not count. */
const UNKNOWN = 2n ** 64n - 1n;

/** Current usage of a unit, by the properties of its service. */
export function usageOf(service: ReadonlyMap<string, DBusValue>): GuestUsage {
  const number = (name: string): number | undefined => {
    const value = service.get(name);
    return typeof value === 'bigint' && value !== UNKNOWN ? Number(value) : undefined;
  };
  const peak = number('MemoryPeak');
  const [read, written] = [number('IOReadBytes'), number('IOWriteBytes')];
  return {
    memory: number('MemoryCurrent') ?? 0,
    ...maybe({ memoryPeak: peak }),
    cpuMs: Math.round((number('CPUUsageNSec') ?? 0) / 1e6),
    tasks: number('TasksCurrent') ?? 0,
    ...(read === undefined && written === undefined ? {} : { ioBytes: (read ?? 0) + (written ?? 0) }),
  };
}
