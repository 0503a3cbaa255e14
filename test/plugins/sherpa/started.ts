/** The plugin with engines that come when they are ready, and files for it. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import type { EngineKind } from '@device-core/plugin-api/services/speech';
import { createTestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/sherpa/index.ts';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { pace } from '../../fixtures/eventually.ts';
import { healthOf } from '../../fixtures/native.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/voice/sherpa.yaml');
/** Stands in for the library where there is no model. */
export const FAKE = join(import.meta.dirname, 'fake-sherpa.cjs');
const PATIENCE_MS = 60_000;
const { resolve } = createRequire(import.meta.url);
const has = (name: string) => {
  try {
    return existsSync(resolve(name));
  } catch {
    return false;
  }
};
const without = (name: string) => `optional npm package ${name} is not installed`;

export const skip = has('sherpa-onnx-node') ? false : without('sherpa-onnx-node');
export const silero = skip || (has('@ricky0123/vad-web/package.json') ? false : without('@ricky0123/vad-web'));
export const model = silero ? '' : join(resolve('@ricky0123/vad-web/package.json'), '../dist/silero_vad_v6.onnx');

export async function hashOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}

export async function start(config: object) {
  const registry = new EngineRegistry();
  const host = await createTestHost(plugin, { manifest: MANIFEST, config, services: [registry.service] });
  return {
    host,
    registry,
    registered: () => registry.rows.map(({ kind, description, owner }) => `${kind} ${description.id} of ${owner}`),
    /** What becomes of a kind of engine: the first health after it was looked for, or the one that is wanted. */
    async outcome(kind: EngineKind, wanted?: ComponentHealth['status']): Promise<ComponentHealth> {
      for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await pace(20)) {
        const health = await healthOf(host, `sherpa.${kind}`);
        if (health && (wanted ? health.status === wanted : health.message !== 'it is looked for')) return health;
      }
      throw new Error(`nothing becomes of ${kind}: ${JSON.stringify(await healthOf(host, `sherpa.${kind}`))}`);
    },
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

/** Resolves when the engine is there. */
export async function startEngine<K extends EngineKind>(kind: K, config: object) {
  const target = await start(config);
  const { status, message } = await target.outcome(kind);
  if (status !== 'okay') throw new Error(message);
  return Object.assign(target, target.registry.find(kind));
}

export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'models-'));
  try {
    await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A file as the configuration names it. */
export async function fileOf(folder: string, name: string, contents: string | Uint8Array = name) {
  const path = join(folder, name);
  await writeFile(path, contents);
  return { path, sha256: await hashOf(path) };
}
