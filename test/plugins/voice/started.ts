/** The plugin with a microphone, engines and intents of its own. */
import { join } from 'node:path';
import { CoreError, type Isolation } from '@device-core/plugin-api';
import { ledger } from '@device-core/plugin-api/inside/services/ledger';
import { type Alarms, alarms } from '@device-core/plugin-api/services/alarms';
import { audio } from '@device-core/plugin-api/services/audio';
import { intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { type VoiceTurn, voice } from '@device-core/plugin-api/services/voice';
import { createTestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/voice/index.ts';
import { eventually as until } from '../../fixtures/eventually.ts';
import { eventually, FakeAudio, FakeIntents, FakeLedger, FakeSpeech, Words, waits } from './fakes.ts';

export const manifest = join(import.meta.dirname, '../../../manifests/plugins/voice/voice.yaml');
/** No busy machine comes near them; a test in which one is reached names it. */
const LIMITS = {
  listeningMs: 6_000,
  thinkingMs: 10_000,
  ttsStartMs: 5_000,
  turnMs: 60_000,
  errorMs: 150,
  refractoryMs: 300,
  callMs: 400,
};

export async function start(
  config: object = {},
  sentences: ConstructorParameters<typeof FakeIntents>[0] = {},
  isolation?: Isolation,
  there: { readonly ledger: boolean; readonly bell?: Alarms } = { ledger: true },
) {
  const { limits, ...others } = config as { readonly limits?: object };
  const words = new Words();
  const sound = new FakeAudio(words);
  const engines = new FakeSpeech(words);
  const known = new FakeIntents({
    next: async () => ({ say: 'Lunch at noon.' }),
    'next week': async () => ({ say: 'Nothing.' }),
    quiet: async () => ({}),
    fail: async () => {
      throw new CoreError('UNAVAILABLE', { what: 'the agenda', reason: 'it sleeps' });
    },
    slow: async () => {
      await waits(700);
      return { say: 'Too late.' };
    },
    'call me': async () => ({ say: 'Who?', followUp: true }),
    both: 'ambiguous',
    ...sentences,
  });
  const table = new TestOperations();
  const book = new FakeLedger();
  const host = await createTestHost(plugin, {
    manifest,
    ...(isolation && { isolation }),
    config: {
      wake: [{ phrase: 'hey computer' }],
      leastCommandMs: 20,
      endpointSlowMs: 300,
      endpointOpenMs: 280,
      endpointNumberMs: 200,
      endpointFastMs: 120,
      retryMs: 30,
      limits: { ...LIMITS, ...limits },
      ...others,
    },
    services: [
      [operations, table],
      [audio, sound],
      [speech, engines.service()],
      [intents, known.service()],
      ...(there.ledger ? [[ledger, book] as const] : []),
      ...(there.bell ? [[alarms, there.bell] as const] : []),
    ],
  });
  const service = host.service(voice);
  await eventually('the first frame', () => sound.captured > 0);
  const events = (topic: string) => host.published.filter((one) => one.topic === topic).map(({ payload }) => payload);
  const turns = () => service.turns();
  const over = (count = 1): Promise<readonly VoiceTurn[]> =>
    until(
      async () => {
        const all = await turns();
        const done = all.filter(({ outcome }) => outcome !== 'running').length >= count;
        return done && (await service.state()).state === 'idle' && all;
      },
      `${count} turns that are over`,
      { ms: 60_000 },
    );
  const states = () => events('audio.state').map((payload) => (payload as { state: string }).state);
  const becomes = async (state: string) => {
    await until(async () => (await service.state()).state === state, state);
  };
  return { host, service, sound, engines, known, table, book, events, turns, over, states, becomes };
}
