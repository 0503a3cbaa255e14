import { definePlugin } from '@device-core/plugin-api';
import { pictureOperation } from '@device-core/plugin-api/pixels';
import { operations } from '@device-core/plugin-api/services/operations';
import { panel } from '@device-core/plugin-api/services/panel';
import { panelOperations } from './operations.ts';
import { SimPanel, type SimSettings } from './sim-panel.ts';

export const plugin = definePlugin<{ operations: typeof operations }, SimSettings>({
  requires: { operations },
  setup(host, services) {
    const glass = new SimPanel(host.scope, host.log, host.config);
    host.provide(panel, glass);
    host.tap('health.collect', (report) => {
      const { plugged } = glass.state();
      if (plugged) report.add('panel-sim', { status: 'okay' });
      else report.add('panel-sim', { status: 'error', code: 'PANEL_UNAVAILABLE', message: 'it is unplugged' });
    });
    for (const operation of [pictureOperation(() => glass.seen()), ...panelOperations(glass)])
      host.scope.use(operation.name, services.operations.add(operation as never));
  },
});
