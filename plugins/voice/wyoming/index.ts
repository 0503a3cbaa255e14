import { CoreError, definePlugin } from '@device-core/plugin-api';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { processes } from '@device-core/plugin-api/inside/services/processes';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { type Intents, intents } from '@device-core/plugin-api/services/intents';
import { speech } from '@device-core/plugin-api/services/speech';
import { Guests } from './guests.ts';
import { Offer } from './offer.ts';
import { Remote } from './remote.ts';
import { Server } from './server.ts';
import type { Settings } from './settings.ts';

export const plugin = definePlugin<{ speech: typeof speech }, Settings>({
  requires: { speech },
  setup(host, services) {
    const { scope, log, config } = host;
    const owner = `plugin.${host.id}`;
    const itself = config.engines.find(({ uri }) => uri === config.serve?.uri);
    if (itself) {
      const reason = 'it is where our own engines are served, which would ask themselves';
      throw new CoreError('PARAMS_INVALID', { where: `the address of engine ${itself.id}`, reason });
    }
    let known: Intents | undefined;
    const world = { scope, log, speech: services.speech, intents: () => known, owner, settings: config };
    const remotes = config.engines.map((engine) => new Remote(engine, world));
    const interpreters = remotes.filter(({ kind }) => kind === 'intent');
    if (config.serve || interpreters.length > 0)
      host.when(intents, async (service, while_) => {
        known = service;
        const renew = async () => void (await Promise.all(interpreters.map((one) => one.renew())));
        while_.defer('intents', async () => {
          known = undefined;
          await renew();
        });
        await renew();
      });
    let server: Server | undefined;
    if (config.serve) {
      const offer = new Offer(services.speech, config.serve, () => known);
      const guests = new Guests();
      host.when(processes, (service) => {
        guests.processes = service;
      });
      host.when(identity, (service) => {
        guests.identity = service;
      });
      const world = {
        speech: services.speech,
        intents: () => known,
        offer,
        settings: config.serve,
        answerMs: config.answerMs,
        log,
      };
      server = new Server(scope, config, world, guests);
    }
    const work = [...remotes.map((remote) => remote.watch()), ...(server ? [server.serve()] : [])];
    scope.defer('Wyoming', async () => void (await Promise.allSettled(work)));
    for (const one of work) one.catch((err: unknown) => log.error({ err }, 'the Wyoming plugin failed'));
    host.tap('health.collect', (report) => tell(report, host.id, remotes, server));
  },
});

/** An engine that is not there is waited for; a server that cannot listen is an error that may go. */
function tell(report: HealthReport, id: string, remotes: readonly Remote[], server: Server | undefined): void {
  const absent = remotes.filter(({ problem }) => problem !== undefined);
  const words = absent.map(({ name, problem }) => `${name} is not there: ${problem}`);
  if (server?.uri !== undefined) words.push(`our engines are at ${server.uri}`);
  if (server?.problem !== undefined) words.push(`our engines are not served: ${server.problem}`);
  const message = words.length > 0 ? { message: words.join('; ') } : {};
  if (server?.problem !== undefined) report.add(id, { status: 'error', code: 'UNAVAILABLE', ...message });
  else if (absent.length > 0) report.add(id, { status: 'waiting', code: 'ENGINE_MISSING', ...message });
  else report.add(id, { status: 'okay', ...message });
}
