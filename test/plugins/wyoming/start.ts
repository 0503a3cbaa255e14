import { CoreError } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { ComponentHealth, HealthReport } from '@device-core/plugin-api/services/health';
import type { TestHostOptions } from '@device-core/plugin-api/testing';
import { createTestHost, type GivenService, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/wyoming/index.ts';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { eventually as looked } from '../../fixtures/eventually.ts';
import type { Manner, Service } from './service.ts';

export const MANIFEST = 'manifests/plugins/voice/wyoming.yaml';
export const NEVER = new AbortController().signal;

/** Looks often; its limits are those that no busy machine comes near. */
const CALM = {
  connectMs: 20_000,
  answerMs: 20_000,
  stallMs: 20_000,
  checkMs: 100,
  leastPauseMs: 20,
  mostPauseMs: 60,
};
/** For tests in which a limit is reached, and nothing else is asked. */
export const HASTY = { answerMs: 400, stallMs: 400 };

export interface Started extends AsyncDisposable {
  readonly host: TestHost;
  readonly registry: EngineRegistry;
}

export async function start(
  config: object,
  services: readonly GivenService[] = [],
  options: Partial<TestHostOptions> = {},
): Promise<Started> {
  const registry = new EngineRegistry();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: { ...CALM, ...config },
    services: services.length > 0 ? services : [registry.service],
    ...options,
  });
  return { host, registry, [Symbol.asyncDispose]: () => host.stop() };
}

/** What it says of its health: the kernel tells of walls, too. */
export async function healthOf(host: TestHost): Promise<ComponentHealth> {
  const found = new Map<string, ComponentHealth>();
  const report: HealthReport = {
    add: (part, health) => void found.set(part, health),
    bridge: () => undefined,
    warn: () => undefined,
  };
  await host.hook('health.collect').promise(report);
  await host.settle();
  const own = found.get('wyoming');
  if (!own) throw new Error(`wyoming says nothing of its health, ${[...found.keys()].join(', ')} do`);
  return own;
}

export const eventually = (what: string, check: () => boolean | Promise<boolean>) =>
  looked(check, what, { ms: 20_000 });

/** Frames with a rising number in each sample, 20 ms apart from 1,000 ms on. */
export async function* frames(
  count: number,
  after?: (seq: number) => void | Promise<void>,
): AsyncGenerator<AudioFrame> {
  for (let seq = 0; seq < count; seq++) {
    await after?.(seq);
    yield { seq, at: 1_000 + seq * 20, samples: new Int16Array(FRAME_SAMPLES).fill(seq + 1) };
  }
}

export async function failure(work: Promise<unknown>): Promise<CoreError> {
  const thrown = await work.then(
    (value) => new Error(`it gave ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (thrown instanceof CoreError) return thrown;
  throw thrown;
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** One external engine, which is there. */
export async function withEngine(
  kind: 'stt' | 'tts' | 'wake',
  service: Service,
  more: object = {},
  config: object = {},
) {
  const started = await start({ engines: [{ kind, id: 'other', uri: service.uri, ...more }], ...config });
  try {
    await eventually('its registration', () => started.registry.rows.length === 1);
    return started;
  } catch (error) {
    await started.host.stop();
    throw error;
  }
}

/** What a service tells when the sound has ended. */
export const answering =
  (...told: readonly (readonly [type: string, data?: object])[]): Manner =>
  (peer, { type }) => {
    if (type === 'audio-stop') for (const [name, data] of told) peer.tell(name, data);
  };
