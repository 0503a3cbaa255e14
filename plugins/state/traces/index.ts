import { definePlugin, whileThere } from '@device-core/plugin-api';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { operations } from '@device-core/plugin-api/services/operations';
import { type TraceRules, traces } from '@device-core/plugin-api/tracing';
import { hidden } from './hide.ts';
import { traceOperations } from './operations.ts';
import { type Limits, TraceStore } from './store.ts';

type Settings = Limits & TraceRules;

export const plugin = definePlugin<{ operations: typeof operations }, Settings>({
  requires: { operations },
  setup(host, services) {
    const { traces: most, bytes, spans, slowMs, sample, always } = host.config;
    const rules: TraceRules = { slowMs, sample };
    const store = new TraceStore({ traces: most, bytes, spans, always }, rules, host.clock);
    const scanner = whileThere(host, secretScan);
    host.provide(traces, {
      record: async (told, lost = 0) => {
        store.lose(lost);
        const scan = scanner();
        for (const span of scan ? await hidden(told, scan) : told) store.add(span);
      },
      rules: async () => rules,
    });
    for (const row of traceOperations(store, most))
      host.scope.use(`operation ${row.name}`, services.operations.add(row));
    host.tap('health.collect', (report) => {
      const { traces: gone, spans: left, waiting, invalid, lost: untold } = store.dropped;
      const lost = left + waiting + invalid + untold;
      const dropped = gone + lost > 0 ? `; ${gone} made room, of ${lost} more something is missing` : '';
      report.add('traces', { status: 'okay', message: `${store.size} kept${dropped}` });
    });
  },
});
