import type { GuestLimits } from '../../contract/app-spec.ts';

/** Limits of an app whose manifest names none. */
export const DEFAULT_LIMITS: GuestLimits = {
  memoryMaxMB: 256,
  cpuPercent: 100,
  tasksMax: 128,
  storageMB: 256,
  cacheMB: 64,
  openFiles: 1024,
  logKBps: 64,
};

/** Least and most that a manifest may ask for; what is outside can only be a slip. */
export const LIMIT_BOUNDS: Readonly<Record<keyof GuestLimits, readonly [least: number, most: number]>> = {
  memoryMaxMB: [1, 65_536],
  cpuPercent: [1, 6_400],
  tasksMax: [1, 16_384],
  storageMB: [1, 1_048_576],
  cacheMB: [1, 1_048_576],
  openFiles: [16, 65_536],
  logKBps: [1, 65_536],
};

export const LIMIT_NAMES = Object.keys(DEFAULT_LIMITS) as readonly (keyof GuestLimits)[];

/**
 * Limits as requested; else the usual ones, or the ceiling where that is lower. A request above a ceiling is cut: an
 * earlier check should have refused it.
 */
export function limitsOf(
  asked: Readonly<Partial<GuestLimits>> = {},
  ceilings: Readonly<Partial<GuestLimits>> = {},
): GuestLimits {
  const limit = (name: keyof GuestLimits) =>
    Math.min(asked[name] ?? DEFAULT_LIMITS[name], ceilings[name] ?? Number.POSITIVE_INFINITY);
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, limit(name)])) as unknown as GuestLimits;
}
