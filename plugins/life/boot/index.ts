import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { definePlugin, maybe, type PluginHost, whileThere } from '@device-core/plugin-api';
import type { BootReport } from '@device-core/plugin-api/inside/boot-report';
import { coreRestart } from '@device-core/plugin-api/inside/core-restart';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { device } from '@device-core/plugin-api/services/device';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { operations } from '@device-core/plugin-api/services/operations';
import { FellBack } from './fell-back.ts';
import { bootOperations } from './operations.ts';

const FELL_BACK = 'BOOT_FELL_BACK';
const requires = { operations, device };

/** `env` has DEVICE_BOOT, the report of the boot loader, where there is one; `end` ends the Core in order. */
export function makeBoot(env: Readonly<Record<string, string | undefined>>, end?: () => void) {
  return definePlugin({
    requires,
    async setup(host: PluginHost, services) {
      const { scope, log } = host;
      const report = reportOf(env, (reason) => log.warn({ reason }, 'the report of the boot loader cannot be read'));
      const restart = coreRestart(scope, env, end);
      const { service, paths } = await services.device.info();
      const fell = report && (await FellBack.open(report, paths.var, scope, log));
      const tell = (): void => {
        const left = fell?.open;
        host.bus.publish('system.boot', { safe: report?.safe ?? false, ...maybe({ fellBack: left }) });
      };
      const seen = async () => {
        const was = (await fell?.see()) ?? false;
        if (was) tell();
        return was;
      };
      const more = { slots: whileThere(host, slots), scope, log, service, fellBack: () => fell?.open, seen };
      for (const operation of bootOperations(report, whileThere(host, machine), restart, more))
        scope.use(operation.name, services.operations.add(operation));
      if (report === undefined || fell === undefined) return;
      tell();
      host.tap('health.collect', (health) => {
        fell.kept.tell(health, 'boot.seen');
        const left = fell.open;
        health.add('boot', left ? { status: 'blocked', code: FELL_BACK, message: fell.text } : okay(report));
        if (left) health.warn(FELL_BACK, fell.text);
        for (const [code, message] of troubles(report)) health.warn(code, message);
      });
      if (report.safe && report.pause !== undefined) {
        const { untilUsed } = await import('./unused-safe-mode.ts');
        untilUsed(host, services.operations, {
          file: join(paths.run, 'safe-mode-used'),
          seconds: report.pause,
          restart,
        });
      }
    },
  });
}

function reportOf(
  { DEVICE_BOOT: path }: Readonly<Record<string, string | undefined>>,
  failed: (reason: string) => void,
) {
  if (!path) return undefined;
  try {
    const report = JSON.parse(readFileSync(path, 'utf8')) as BootReport;
    if (report.form === 1) return report;
    failed(`its form is ${report.form}`);
  } catch (error) {
    failed((error as Error).message);
  }
  return undefined;
}

const okay = ({ why }: BootReport): ComponentHealth => ({ status: 'okay', message: why });

function* troubles({ safe, why, before, repaired, problems }: BootReport): Generator<readonly [string, string]> {
  // With how it ended last, in the words of systemd: the loader counts, and does not know more.
  if (safe) yield ['BOOT_SAFE_MODE', `safe mode: ${why}${before === undefined ? '' : ` (the last time: ${before})`}`];
  if (repaired.length > 0)
    yield ['BOOT_REPAIRED', `${repaired.length} damaged files were put right from the other slot: ${repaired[0]}`];
  for (const problem of problems.slice(0, 4)) yield ['BOOT_PROBLEM', problem];
}

export const plugin = makeBoot(process.env);
