import { join } from 'node:path';
import { definePlugin, reasonOf, rounds } from '@device-core/plugin-api';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { sessions } from '@device-core/plugin-api/inside/services/sessions';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { LoopTurns } from '../shared/loop-turns.ts';
import { type ArrivalLimits, Arrivals } from './arrivals.ts';
import { type ConnectionLimits, Connections } from './connections.ts';
import { Doors, type DoorWays } from './doors.ts';
import { EventStreams } from './event-streams.ts';
import { FrontEnd } from './front-end.ts';
import { type ListenerConfig, Listeners, refuse } from './listeners.ts';
import { Mounts } from './mounts.ts';
import { PageSocketServer } from './page-sockets.ts';
import { RawBodies } from './raw-body.ts';
import { Router } from './router.ts';
import { Turns } from './turns.ts';

const requires = { operations, identity, device };

interface HttpConfig extends ListenerConfig, ArrivalLimits, ConnectionLimits {
  readonly tcp: boolean;
  readonly tcpRequired: boolean;
  readonly port: number;
  readonly hosts: readonly string[];
  readonly socket?: string;
  readonly heartbeatMs: number;
  readonly stallTimeoutMs: number;
}

export const plugin = definePlugin<typeof requires, HttpConfig>({
  requires,
  async setup(host, services) {
    const { scope, log, config } = host;
    const { paths } = await services.device.info();
    const shortest = Math.min(config.stallTimeoutMs, config.requestTimeoutMs);
    const watchStalled = rounds({
      scope,
      label: 'stalled clients',
      ms: Math.max(20, Math.min(1_000, shortest / 4)),
      run: () => {
        arrivals.check(turns.arriving());
        return connections.checkStalled(host.clock, config.stallTimeoutMs);
      },
    });
    const arrivals = new Arrivals(config, host.clock, refuse);
    const connections = new Connections(services.identity, log, config, watchStalled);
    const streams = new EventStreams(scope, config.heartbeatMs);
    const bodies = new RawBodies(join(paths.var, 'uploads'));
    const loop = new LoopTurns(host.clock);
    const frontEnd = new FrontEnd({ ...services, loop }, connections, streams, bodies, log);
    const mounts = new Mounts(connections, log);
    const pages = new PageSocketServer(connections, loop, log);
    const callerOf: DoorWays['callerOf'] = (request, connection) => frontEnd.callerOf(request, connection);
    const charge: DoorWays['charge'] = (request, connection) => frontEnd.charge(request, connection);
    const doors = new Doors({ connections, streams, log, loop, callerOf, charge });
    const router = new Router(frontEnd, { mounts, doors }, log);
    const turns = new Turns(
      (request, response) => connections.answering(request.socket, response, () => router.handle(request, response)),
      (socket) => connections.of(socket)?.share,
    );
    scope.use(
      'operations watch',
      services.operations.watch((table) => router.update(table)),
    );
    scope.use(
      'revocations',
      services.identity.onRevoked((app) => connections.cut(app)),
    );

    const listeners = scope.use('listeners', new Listeners(connections, turns, pages, config, host.clock));
    const missing: string[] = [];
    // The socket comes first: whoever hears an answer over TCP finds it there, and a port that another program has does not take it away.
    await listeners.unix(config.socket ?? join(paths.run, 'core.sock'));
    for (const address of config.tcp ? config.hosts : []) {
      await listeners.tcp(address, config.port).catch((thrown: unknown) => {
        if (config.tcpRequired) throw thrown;
        const reason = `${reasonOf(thrown)}; --port N (http.port) takes another`;
        log.warn({ reason }, 'a TCP address is not served');
        missing.push(reason);
      });
    }

    host.tap('health.collect', (report) => {
      const refused = connections.refused > 0 ? `, ${connections.refused} refused or closed for want of room` : '';
      const halted = arrivals.stalled > 0 ? `, ${arrivals.stalled} cut because their request did not go on` : '';
      const stalled = connections.stalled > 0 ? `, ${connections.stalled} cut because they took nothing` : '';
      const flooded = turns.flooded > 0 ? `, ${turns.flooded} cut because they sent too many requests at once` : '';
      const message = `${connections.size} connections (${streams.size} event streams, ${pages.size} pages${refused}${stalled}${halted}${flooded})`;
      report.add('http', { status: 'okay', message });
      for (const reason of missing) report.warn('TCP_UNAVAILABLE', reason);
    });
    host.when(sessions, (service, scope) => {
      scope.use(
        'sessions that end',
        service.onEnd((id) => {
          connections.cutSession(id);
          pages.cut(id);
        }),
      );
    });
    host.provide(httpServer, {
      addresses: async () => [...listeners.addresses],
      mount: (prefix, handler) => mounts.add(prefix, handler),
      upgrade: (path, protocol, sockets) => pages.add(path, protocol, sockets),
      door: (path, handler) => doors.add(path, handler),
    });
  },
});
