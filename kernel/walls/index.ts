/** Walls around the guests (apps, and plugins in separate processes) by the system's kernel. Loaded when there is a guest. */

import type { Launcher } from '@device-core/plugin-api/inside/services/launcher';
import type { HealthReport } from '@device-core/plugin-api/services/health';

let own: Promise<Launcher> | undefined;

/** Launcher of this machine: one for the whole process, made at its first use, because a Core without guests needs none. */
export const systemLauncher: Launcher = {
  report: async () => (await machine()).report(),
  prepare: async (spec, options) => (await machine()).prepare(spec, options),
};

/** The component `walls` of /health, and a warning where guests of the SKU stand without them. */
export async function addWallsHealth(report: HealthReport, launcher: Launcher, guests: boolean): Promise<void> {
  const { wallsHealth } = await import('./health.ts');
  wallsHealth(report, await launcher.report(), guests);
}

function machine(): Promise<Launcher> {
  own ??= import('./launcher.ts').then(({ WallLauncher }) => new WallLauncher());
  return own;
}
