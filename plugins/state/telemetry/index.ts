import { join } from 'node:path';
import {
  definePlugin,
  FOR_USER,
  maybe,
  reasonOf,
  type ServesEachUser,
  type ServiceUser,
} from '@device-core/plugin-api';
import { outbox } from '@device-core/plugin-api/inside/services/outbox';
import {
  type ConsentLevel,
  type ConsentTold,
  type Telemetry,
  telemetry,
} from '@device-core/plugin-api/inside/services/telemetry';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { secrets } from '@device-core/plugin-api/services/secrets';
import { metrics } from '@device-core/plugin-api/telemetry';
import { ConsentBook, TEXTS } from './consent-book.ts';
import { Exporter, type ExportSettings } from './exporter.ts';
import { telemetryOperations } from './operations.ts';

interface Settings extends ExportSettings {
  readonly texts: Readonly<Partial<Record<ConsentLevel, string>>>;
}

const requires = { device, operations };
/** Most listeners of one plugin. */
const MOST_LISTENERS = 64;

interface Listener {
  readonly plugin: string;
  readonly listener: (consent: ConsentTold) => void;
}

/** Stage after the taps that remove secrets from a line. */
const LAST = 1_000;

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, config } = host;
    const { paths, service, core, sku, startedAt } = await services.device.info();
    const book = await ConsentBook.open(join(paths.var, 'telemetry', 'consent.json'), scope, log);
    const texts = { ...TEXTS, ...config.texts };
    const about = { service, version: core.version, sku: sku.id };
    const exporter = new Exporter({ scope, log, settings: config, book, about, startedAt });

    const listeners = new Set<Listener>();
    const told = () => {
      const { level, by } = book.told;
      host.bus.publish('telemetry.consent', { level, ...maybe({ by }) });
      for (const { listener } of [...listeners]) {
        try {
          listener(book.told);
        } catch (error) {
          log.warn({ reason: reasonOf(error) }, 'a listener of the consent failed');
        }
      }
    };
    const decide = async (level: ConsentLevel, by: string) => {
      const before = book.value.level;
      try {
        await exporter.decide(level, by, texts[level]);
      } finally {
        log.info({ level, before, by }, `telemetry: ${by} decided on ${level}`);
        told();
      }
    };
    const viewOf = ({ plugin }: Pick<ServiceUser, 'plugin'>): Telemetry => ({
      consent: async () => book.told,
      onChange: async (listener) => {
        const its = [...listeners].filter((one) => one.plugin === plugin);
        // The end of a plugin is not reported: the oldest listener gives way, which is one of an earlier run.
        if (its.length >= MOST_LISTENERS) {
          listeners.delete(its[0]!);
          log.warn({ plugin }, `it has ${MOST_LISTENERS} listeners of the consent: the oldest is dropped`);
        }
        const one: Listener = { plugin, listener };
        listeners.add(one);
        return { [Symbol.dispose]: () => void listeners.delete(one) };
      },
    });
    const views: Telemetry & ServesEachUser<Telemetry> = { ...viewOf({ plugin: '' }), [FOR_USER]: viewOf };
    host.provide(telemetry, views);
    const parts = { book, exporter, texts, headers: config.headers, decide };
    for (const operation of telemetryOperations(parts)) scope.use(operation.name, services.operations.add(operation));

    host.when(metrics, (service, part) => {
      exporter.bodies.source = service;
      part.defer('metrics', () => {
        exporter.bodies.source = undefined;
      });
    });
    host.when(secrets, async (service, part) => {
      exporter.secrets = service;
      part.defer('secrets', () => {
        exporter.secrets = undefined;
      });
      part.use('secrets', await service.onChange(() => void exporter.reconsider()));
      await exporter.reconsider();
    });
    host.when(outbox, async (service, part) => {
      part.defer('outbox', () => exporter.follow(undefined));
      await exporter.follow(service);
    });
    host.tap('log.line', (line) => exporter.line(line), { stage: LAST });
    host.tap('health.collect', (report) => exporter.tell(report));
  },
});
