import { after, describe } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/soundswallower/index.ts';
import { sttContract } from '../../contracts/stt.ts';
import { startEngine } from '../../fixtures/speech-registry.ts';

const MANIFEST = 'manifests/plugins/soundswallower.yaml';
const start = async (config = {}) => {
  const { engine, host, ...rest } = await startEngine(plugin, MANIFEST, 'stt', config);
  return { engine, host, ...rest, leave: () => host.stop(), [Symbol.asyncDispose]: () => host.stop() };
};
after(leakCheck());

describe('soundswallower and sentences', { timeout: 110_000 }, () => {
  sttContract(start, { needsGrammar: true, streaming: true, foreign: 'de' });
});
