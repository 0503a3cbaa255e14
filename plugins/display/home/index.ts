import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { device } from '@device-core/plugin-api/services/device';
import { display } from '@device-core/plugin-api/services/display';
import { intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { doer } from './deeds.ts';
import { Guide, SURFACE } from './guide.ts';
import { homeOperations } from './operations.ts';
import { addApps, addPhrases, type Says } from './phrases.ts';
import { RING_SURFACE, RingFace } from './ring-face.ts';
import { Senses } from './senses.ts';

interface HomeConfig {
  readonly idleMs: number;
  readonly wifi: boolean;
}

const requires = { device, display, operations };

export const plugin = definePlugin<typeof requires, HomeConfig>({
  requires,
  async setup(host, services) {
    const { scope, log, clock, config } = host;
    const { display } = services;
    const info = await services.device.info();
    let appsChanged = (): void => undefined;
    const senses = new Senses(host, display, info, () => {
      appsChanged();
      void guide.draw();
      void ring.look();
    });
    const deed = doer({ senses, guide: () => guide, log });
    const guide: Guide = scope.use(
      'screens',
      new Guide({
        display,
        clock,
        log,
        deed,
        idleMs: config.idleMs,
        facts: () => senses.facts,
        entering: (screen) => {
          if (screen === 'network') void senses.lookRound();
          return LOOKED_UP.has(screen) ? senses.look() : undefined;
        },
        left: (screen) => {
          if (screen === 'problem') senses.change({ mishap: undefined });
        },
      }),
    );
    const ring = new RingFace({ display, log, facts: () => senses.facts });
    scope.use(
      'touches',
      display.onInput((surface, input) => {
        if (surface === SURFACE) guide.input(input);
        else if (surface === RING_SURFACE && input.phase === 'tap' && input.tap !== undefined) deed(input.tap);
      }),
    );
    senses.listen();
    let app: string | undefined;
    scope.use(
      'state of the display',
      display.onState((state) => {
        senses.change({ display: state });
        // Behind an app it is home: that is what is seen when the app is left.
        if (state.app !== undefined && state.app !== app) void guide.home();
        app = state.app;
      }),
    );
    scope.use(
      'surroundings',
      display.onSurroundings((surroundings) => {
        guide.surroundings(surroundings);
        void ring.look();
      }),
    );
    guide.surroundings(await display.surroundings());
    await guide.draw();

    const says: Says = {
      show: async (screen) => {
        await display.wake('voice');
        await display.home();
        await guide.go(screen);
      },
      open: async (id) => {
        await display.wake('voice');
        const known = senses.facts.apps.find((one) => one.id === id);
        if (known && !known.running) await senses.hands.apps?.start(id);
        await display.open(id);
      },
    };
    host.when(intents, (service, during) => {
      addPhrases(service, during, says);
      let titles = '';
      let added: Promise<AsyncDisposable | undefined> = Promise.resolve(undefined);
      appsChanged = () => {
        const { apps } = senses.facts;
        const now = apps.map(({ id, title }) => `${id} ${title}`).join('\n');
        if (now === titles) return;
        titles = now;
        added = added
          .then(async (former) => {
            await former?.[Symbol.asyncDispose]();
            return await addApps(service, apps, says);
          })
          .catch((thrown: unknown) => {
            log.warn({ reason: reasonOf(thrown) }, 'apps cannot be opened by voice');
            return undefined;
          });
      };
      during.defer('phrases of apps', async () => {
        appsChanged = () => undefined;
        await (await added)?.[Symbol.asyncDispose]();
      });
      appsChanged();
    });

    let pairing: Disposable | undefined;
    const unpaired = () => {
      pairing?.[Symbol.dispose]();
      pairing = undefined;
      senses.change({ pairing: undefined });
    };
    scope.defer('pairing', () => pairing?.[Symbol.dispose]());
    const shows = {
      show: async (screen: Parameters<Guide['go']>[0]) => {
        await display.home();
        await guide.go(screen);
      },
      pair: async (url: string, ms: number) => {
        unpaired();
        senses.change({ pairing: { url, until: clock.now() + ms } });
        await display.wake('pairing');
        await display.home();
        await guide.go('pairing');
        pairing = clock.after(ms, () => {
          unpaired();
          if (guide.screen === 'pairing') void guide.home();
        });
      },
      get screen() {
        return guide.screen;
      },
    };
    for (const operation of homeOperations(shows)) scope.use(operation.name, services.operations.add(operation));
  },
});

/** Screens with facts that no service announces. */
const LOOKED_UP: ReadonlySet<string> = new Set(['settings', 'network', 'look', 'privacy', 'departures']);
