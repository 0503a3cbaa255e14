import { definePlugin } from '@device-core/plugin-api';
import { type LimitsConfig, RateLimits } from './rate-limits.ts';

// biome-ignore lint/complexity/noBannedTypes: it requires nothing
export const plugin = definePlugin<{}, LimitsConfig>({
  setup(host) {
    const limits = new RateLimits(host.config, host.clock);
    host.tap('operation.before', (operation, call) => limits.refusal(operation, call));
    host.tap('health.collect', (report) => {
      const message = limits.refused > 0 ? { message: `${limits.refused} requests refused so far` } : {};
      report.add('limits', { status: 'okay', ...message });
    });
  },
});
