import { join } from 'node:path';
import { CoreError, definePlugin, whileThere } from '@device-core/plugin-api';
import { type DoorRequest, httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { ledger as ledgerService } from '@device-core/plugin-api/inside/services/ledger';
import { device } from '@device-core/plugin-api/services/device';
import { functions } from '@device-core/plugin-api/services/functions';
import { operations } from '@device-core/plugin-api/services/operations';
import { prompts as promptService } from '@device-core/plugin-api/services/prompts';
import { sensors as sensorService } from '@device-core/plugin-api/services/sensors';
import { type Asker, Calls } from './calls.ts';
import { Changes } from './changes.ts';
import { Clients } from './clients.ts';
import { Consents } from './consent.ts';
import { clientOperations } from './operations.ts';
import { McpServer } from './server.ts';

const PATH = '/mcp';

interface Settings {
  readonly confirm: 'client' | 'device';
  readonly atOnce: number;
}

const requires = { device, httpServer, operations, functions };

export const plugin = definePlugin<typeof requires, Settings>({
  requires,
  async setup(host, services) {
    const { scope, log, clock, config } = host;
    const info = await services.device.info();
    const clients = await Clients.open(join(info.paths.var, 'mcp/clients.json'), scope, log, clock);
    const ledger = whileThere(host, ledgerService);
    const prompts = whileThere(host, promptService);
    const sensors = whileThere(host, sensorService);
    const calls = new Calls({
      clock,
      clients,
      consents: new Consents(clock),
      confirm: config.confirm,
      services: {
        functions: services.functions,
        get ledger() {
          return ledger();
        },
        get prompts() {
          return prompts();
        },
      },
    });
    const changes = new Changes();
    scope.use(
      'changes of functions',
      services.functions.onChange(() => {
        calls.changed();
        changes.tell();
      }),
    );
    const server = new McpServer({
      server: { name: info.service, version: info.core.version },
      log,
      calls,
      changes,
      readable: async () => ({ info: await services.device.info(), sensors: sensors() }),
      askerOf: (request) => askerOf(clients, request),
      atOnce: config.atOnce,
    });
    scope.use('door of language models', services.httpServer.door(PATH, server.answer));
    for (const row of clientOperations(clients)) scope.use(`operation ${row.name}`, services.operations.add(row));
    host.tap('health.collect', (report) => {
      clients.tell(report);
      const { refused: count } = server.callers;
      const refused = count > 0 ? `, ${count} messages refused for want of room` : '';
      const message = `${clients.list().length} clients, ${changes.size} listeners${refused}`;
      report.add('mcp', { status: 'okay', message });
    });
  },
});

/** A bearer of ours, or the operator without a browser. Throws UNAUTHENTICATED, CALLER_DENIED. */
async function askerOf(clients: Clients, request: DoorRequest): Promise<Asker> {
  const client = request.token === undefined ? undefined : clients.of(request.token);
  if (client) {
    await request.turn(client.name);
    return { name: client.name, client };
  }
  const caller = await request.caller();
  if (caller.kind === 'operator' && caller.signedIn === undefined) return { name: 'operator' };
  if (caller.kind === 'anonymous')
    throw new CoreError('UNAUTHENTICATED', {
      reason: 'bring the bearer of a client: devicectl mcp add NAME makes one',
    });
  throw new CoreError('CALLER_DENIED', {
    verb: 'speak as a language model client',
    reason: 'bring the bearer of a client: devicectl mcp add NAME makes one',
  });
}
