import { join } from 'node:path';
import {
  type BridgeEndpoint,
  type BridgeRequestOptions,
  bridge,
  CoreError,
  type HealthReport,
  type LinkState,
  operations,
  type SpixTransfer,
} from '@device-core/plugin-api';
import { createTestHost, given, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/spi/index.ts';
import { OperationTable } from '../../fixtures/operation-table.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/hardware/spi.yaml');

export const HANDLES = [
  { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0 },
  { name: 'slow', endpoint: 'spi1', cs: 1, speed: 125_000, mode: 3, atomic: true },
  { name: 'patient', endpoint: 'spi1', cs: 2, speed: 1_000, mode: 1, deadlineMs: 9_000 },
];

type Sent = SpixTransfer & { readonly endpoint: string; readonly options: BridgeRequestOptions };

/** A bridge whose wire is a function; by default MISO is MOSI turned around. */
export class FakeBridge {
  readonly sent: Sent[] = [];
  answer: (transfer: Sent) => Promise<Uint8Array> | Uint8Array = ({ tx, rxLength }) => {
    const clocked = new Uint8Array(Math.max(tx.length, rxLength));
    clocked.set(tx);
    return clocked.map((byte) => byte ^ 0xff).slice(0, rxLength);
  };
  readonly listeners = new Set<(state: LinkState, reason?: string) => void>();
  names = ['spi0', 'spi1'];

  async endpoints(): Promise<readonly BridgeEndpoint[]> {
    return this.names.map((name) => ({ name }) as BridgeEndpoint);
  }

  async spixTransfer(
    endpoint: string,
    transfer: SpixTransfer,
    options: BridgeRequestOptions = {},
  ): Promise<Uint8Array> {
    const sent = { endpoint, ...transfer, options };
    this.sent.push(sent);
    return this.answer(sent);
  }

  onLink(listener: (state: LinkState, reason?: string) => void): Disposable {
    this.listeners.add(listener);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }
}

export function bridgeFailed(status: string): CoreError {
  return new CoreError('BRIDGE_FAILED', { endpoint: 'spi0', status });
}

export interface Started extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: OperationTable;
  readonly bridge: FakeBridge;
  health(): Promise<{ readonly status: string; readonly message?: string }>;
}

export async function start(
  options: {
    readonly withBridge?: boolean;
    readonly config?: object;
    readonly grants?: Readonly<Record<string, readonly string[]>>;
  } = {},
): Promise<Started> {
  const table = new OperationTable();
  const fake = new FakeBridge();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: options.config ?? { handles: HANDLES },
    services: [[operations, table], ...(options.withBridge === false ? [] : [given(bridge, fake)])],
    ...(options.grants && { grants: options.grants }),
  });
  return {
    host,
    table,
    bridge: fake,
    async health() {
      let found = { status: 'absent' } as { status: string; message?: string };
      const report: HealthReport = {
        add: (_, health) => {
          found = health;
        },
        bridge: () => undefined,
        warn: () => undefined,
      };
      await host.hook('health.collect').promise(report);
      return found;
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      if (host.leaks().length > 0) throw new Error(`leaks: ${host.leaks().join(', ')}`);
      if (fake.listeners.size > 0) throw new Error('a link listener was left');
    },
  };
}
