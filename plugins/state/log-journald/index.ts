import { definePlugin } from '@device-core/plugin-api';
import { logControl } from '@device-core/plugin-api/inside/services/log-control';
import { Journal } from './journal.ts';
import { loadDatagrams } from './socket.ts';

interface Settings {
  readonly socket: string;
  readonly identifier: string;
}

const requires = { logControl };

/** Lines of the log go to the journal of systemd in the place of the file. */
export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, config, clock } = host;
    const open = await loadDatagrams();
    const journal = scope.use(
      'journal',
      new Journal({ path: config.socket, identifier: config.identifier, open, clock }),
    );
    scope.use('lines of the log', services.logControl.divert(journal.write));
    host.tap('health.collect', async (report) => journal.tell(report));
  },
});
