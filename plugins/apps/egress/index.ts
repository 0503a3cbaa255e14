import { definePlugin, reasonOf, whileThere } from '@device-core/plugin-api';
import { appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { egress } from '@device-core/plugin-api/inside/services/egress';
import { ledger as ledgerService } from '@device-core/plugin-api/inside/services/ledger';
import { device } from '@device-core/plugin-api/services/device';
import type { WayOutLimits } from './way-out.ts';
import { WaysOut } from './ways-out.ts';

interface Settings extends WayOutLimits {
  readonly hosts: Readonly<Record<string, readonly string[]>>;
  readonly allowPrivate: readonly string[];
  readonly servers: readonly string[];
  readonly resolveMs: number;
  readonly lookUps: number;
}

const requires = { device };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, config, capabilities } = host;
    const { paths } = await services.device.info();
    const ledger = whileThere(host, ledgerService);
    const ways = new WaysOut(paths.run, scope, log, async (refused) => {
      const [{ Turns }, { Names }, { WayOut }] = await Promise.all([
        import('./copy.ts'),
        import('./names.ts'),
        import('./way-out.ts'),
      ]);
      const world = {
        log,
        capabilities,
        limits: config,
        refused,
        names: new Names({ scope, ...config }),
        turns: new Turns(),
        ledger,
      };
      return (app, part) => new WayOut(app, part, world);
    });
    // Inside, a refusal is a number at most: why stands in the log of the app.
    host.when(appSupervisor, (service, part) => {
      const tell = ways.onRefusal(({ app, code, message }) => {
        const name = ways.nameOf(app);
        if (name === undefined) return;
        service
          .write(name, { level: 'warn', text: `${code}: ${message}` })
          .catch((thrown: unknown) => log.warn({ app, reason: reasonOf(thrown) }, 'a refusal is not in its log'));
      });
      part.use('refusals', tell);
    });
    host.provide(egress, ways);
  },
});
