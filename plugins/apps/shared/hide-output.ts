import { type PluginHost, whileThere } from '@device-core/plugin-api';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import type { HealthReport } from '@device-core/plugin-api/services/health';

export interface OutputHider {
  /** Rejects where secrets could not be looked for: such output is withheld. */
  hide(texts: readonly string[]): Promise<readonly string[]>;
  /** For hook `health.collect`: how often output was withheld. */
  tell(report: HealthReport): void;
}

/** For supervisors: takes secrets out of what apps wrote, where somebody looks for them. */
export function hideOutput(host: Pick<PluginHost, 'when' | 'id'>): OutputHider {
  const scan = whileThere(host, secretScan);
  let withheld = 0;
  return {
    async hide(texts) {
      try {
        return (await scan()?.hide(texts)) ?? texts;
      } catch (thrown) {
        withheld += 1;
        throw thrown;
      }
    },
    tell(report) {
      const what = `output of apps was withheld ${withheld} times: secrets could not be looked for in it`;
      if (withheld > 0) report.warn('OUTPUT_WITHHELD', `${host.id}: ${what}`);
    },
  };
}
