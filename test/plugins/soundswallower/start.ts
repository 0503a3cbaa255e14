import type { EngineKind } from '@device-core/plugin-api/services/speech';
import { plugin } from '../../../plugins/voice/soundswallower/index.ts';
import { startEngine } from '../../fixtures/speech-registry.ts';

export const MANIFEST = 'manifests/plugins/voice/soundswallower.yaml';

/** One of its engines, which leaves with the plugin. */
export async function start<K extends EngineKind>(kind: K, config: object = {}) {
  const target = await startEngine(plugin, MANIFEST, kind, config);
  const leave = () => target.host.stop();
  return { engine: target.engine, target, leave, [Symbol.asyncDispose]: leave };
}
