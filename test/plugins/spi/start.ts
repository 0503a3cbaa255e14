import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import {
  type Endpoint,
  type EndpointRequestOptions,
  endpoints,
  type SourceState,
  type SourceView,
} from '@device-core/plugin-api/services/endpoints';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, type TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/spi/index.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/hardware/spi.yaml');

/** Apps that may do everything here. */
const GRANTS = { 'app.com.example.reader': ['bridges.spi'], 'app.com.example.other': ['bridges.spi'] };

export const HANDLES = [
  { name: 'flash', endpoint: 'spi0', cs: 0, speed: 8_000_000, mode: 0 },
  { name: 'slow', endpoint: 'spi1', cs: 1, speed: 125_000, mode: 3, atomic: true },
  { name: 'patient', endpoint: 'spi1', cs: 2, speed: 1_000, mode: 1, deadlineMs: 9_000 },
];

interface Sent {
  readonly endpoint: string;
  readonly cs: number;
  readonly mode: number;
  readonly speedHz: number;
  readonly atomic: boolean;
  readonly tx: Uint8Array;
  readonly rxLength: number;
  readonly options: EndpointRequestOptions;
}

/** Endpoints whose wire is a function; by default MISO is MOSI turned around. */
export class FakeEndpoints {
  readonly sent: Sent[] = [];
  answer: (transfer: Sent) => Promise<Uint8Array> | Uint8Array = ({ tx, rxLength }) => {
    const clocked = new Uint8Array(Math.max(tx.length, rxLength));
    clocked.set(tx);
    return clocked.map((byte) => byte ^ 0xff).slice(0, rxLength);
  };
  readonly listeners = new Set<(sources: readonly SourceView[]) => void>();
  /** Microseconds that a byte takes on the link. */
  byteUs = 0;
  /** Class of the endpoints: SPIX. */
  kind = 0x03;
  #state: SourceState = { state: 'up', endpoints: [] };

  constructor() {
    this.up('spi0', 'spi1');
  }

  up(...names: readonly string[]): void {
    this.#became({
      state: 'up',
      endpoints: names.map((name) => ({ name, class: this.kind, byteUs: this.byteUs, boot: '1' }) as Endpoint),
    });
  }

  down(reason: string): void {
    this.#became({ state: 'down', reason });
  }

  async request(
    endpoint: string,
    op: number,
    bytes: Uint8Array,
    options: EndpointRequestOptions = {},
  ): Promise<Uint8Array> {
    const body = Buffer.from(bytes);
    if (op !== 1 || body.length < 16) throw bridgeFailed('INVALID');
    const sent: Sent = {
      endpoint,
      cs: body[0]!,
      mode: body[1]!,
      atomic: (body[3]! & 8) !== 0,
      speedHz: body.readUInt32LE(4),
      rxLength: body.readUInt32LE(12),
      tx: body.subarray(16),
      options,
    };
    this.sent.push(sent);
    return this.answer(sent);
  }

  onChange(listener: (sources: readonly SourceView[]) => void): Disposable {
    this.listeners.add(listener);
    listener([{ source: 'bridge', where: 'bridge', ...this.#state }]);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }

  #became(state: SourceState): void {
    this.#state = state;
    for (const listener of this.listeners) listener([{ source: 'bridge', where: 'bridge', ...state }]);
  }
}

export function bridgeFailed(status: string): CoreError {
  return new CoreError('BRIDGE_FAILED', { endpoint: 'spi0', status });
}

export interface Started extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  readonly bridge: FakeEndpoints;
  health(): Promise<{ readonly status: string; readonly message?: string }>;
}

export async function start(
  options: {
    readonly withBridge?: boolean;
    readonly config?: object;
    readonly grants?: Readonly<Record<string, readonly string[]>>;
  } = {},
): Promise<Started> {
  const table = new TestOperations();
  const fake = new FakeEndpoints();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: options.config ?? { handles: HANDLES },
    services: [[operations, table], ...(options.withBridge === false ? [] : [given(endpoints, fake)])],
    grants: options.grants ?? GRANTS,
  });
  return {
    host,
    table,
    bridge: fake,
    async health() {
      let found = { status: 'absent' } as { status: string; message?: string };
      const report: HealthReport = {
        add: (name, health) => {
          if (name === 'spi') found = health;
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
      if (fake.listeners.size > 0) throw new Error('a listener was left');
    },
  };
}
