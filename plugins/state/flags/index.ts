import { CoreError, definePlugin } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { apps } from '@device-core/plugin-api/services/apps';
import { config } from '@device-core/plugin-api/services/config';
import { type FlagDeclaration, flags } from '@device-core/plugin-api/services/flags';
import { operations } from '@device-core/plugin-api/services/operations';
import { collect, type Declared } from './declared.ts';
import { flagOperations } from './operations.ts';
import { FlagValues, PREFIX } from './values.ts';

interface Settings {
  readonly flags: Readonly<Record<string, FlagDeclaration>>;
}

const requires = { config, operations, 'plugin-manager': pluginManager };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log } = host;
    const values = new FlagValues({
      config: services.config,
      log,
      changed: (flag) => void host.bus.publish('flag.changed', flag),
    });
    let problems: readonly string[] = [];
    let known = '';
    let described: Disposable | undefined;
    scope.defer('description of the flags', () => described?.[Symbol.dispose]());

    const look = async (): Promise<void> => {
      const found = collect(host.config.flags, await services['plugin-manager'].settings());
      problems = found.problems;
      const text = JSON.stringify([...found.flags]);
      if (text === known) return;
      // The later description holds at once: no flag is without one in between.
      using _former = described;
      described = await services.config.describe(PREFIX, Object.fromEntries([...found.flags].map(keyOf)));
      known = text;
      await values.declare(found.flags);
    };
    let turn = look();
    await turn;
    // Plugins come and go with the SKU and by installing.
    host.bus.subscribe(
      'plugin.changed',
      () => {
        turn = turn.then(look).catch((error) => log.error({ err: error }, 'cannot read which flags there are'));
      },
      { retained: false },
    );
    scope.use(
      'changes of flags',
      await services.config.watch({}, ({ key }) => {
        if (key.startsWith(`${PREFIX}.`)) values.refresh().catch(() => undefined);
      }),
    );
    const nobody = async (app: string): Promise<string> => {
      throw new CoreError('APP_NOT_FOUND', { app });
    };
    let idOf = nobody;
    host.when(apps, (service, inner) => {
      idOf = async (app) => (await service.status(app)).id;
      inner.defer('names of apps', () => {
        idOf = nobody;
      });
    });
    host.provide(flags, values);
    for (const row of flagOperations(values, (app) => idOf(app)))
      scope.use(`operation ${row.name}`, services.operations.add(row));
    host.tap('health.collect', (report) => {
      for (const problem of problems) report.warn('FLAG_LEFT_OUT', problem);
    });
  },
});

const keyOf = ([name, { schema, default: value }]: readonly [string, Declared]) =>
  [name, { schema, default: value }] as const;
