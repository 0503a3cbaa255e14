import { randomBytes } from 'node:crypto';
import { definePlugin } from '@device-core/plugin-api';
import { bridge } from '@device-core/plugin-api/services/bridge';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { operations } from '@device-core/plugin-api/services/operations';
import { bridgeOperations, traceStream } from './bridge-operations.ts';
import { BridgeService } from './bridge-service.ts';
import { BridgeSource } from './bridge-source.ts';
import { bridgeHealth, componentHealth } from './health.ts';
import { Host } from './host.ts';
import { announceLink, firstAttempt } from './link-watch.ts';
import { Requests } from './requests.ts';

export interface CbpConfig {
  readonly transactionBytes: number;
  readonly window: number;
  readonly khz: number;
  readonly heartbeatMs: number;
  /** How long the start waits for the first session; 0 = not at all. */
  readonly startWaitMs: number;
}

export const plugin = definePlugin<{ port: typeof bridgePort }, CbpConfig>({
  requires: { port: bridgePort },
  async setup(host, { port }) {
    const random = () => randomBytes(4).readUInt32LE();
    const bridgeHost = new Host({ ...host.config, port, clock: host.clock, random, log: host.log });
    host.scope.use('link events', announceLink(bridgeHost, host.bus, host.log));
    const first = firstAttempt(bridgeHost, host.config.startWaitMs);

    const stop = new AbortController();
    const running = bridgeHost.run(stop.signal);
    host.scope.defer('bridge link', async () => {
      stop.abort();
      await running;
    });

    host.tap('health.collect', (report) => {
      report.add(host.id, componentHealth(bridgeHost));
      report.bridge(bridgeHealth(bridgeHost));
    });
    const requests = new Requests(bridgeHost);
    const service = new BridgeService(bridgeHost, requests);
    host.provide(bridge, service);
    const source = new BridgeSource(bridgeHost, requests);
    host.when(endpoints, async (hub, scope) => {
      // A hub in another process has the state of the source on its way to it before the answer is here.
      await scope.use('source of endpoints', hub.serve(source));
    });
    host.when(operations, (table, scope) => {
      for (const operation of bridgeOperations(service, requests))
        scope.use(`operation ${operation.name}`, table.add(operation));
      scope.use('stream bridge.trace', table.addStream(traceStream(bridgeHost.trace)));
    });
    await first;
  },
});
