/** A spoken command through the whole device: microphone, wake phrase, grammar, an app, and speech out of the speaker. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import { decodeWav, encodeWav } from '@device-core/plugin-api/audio';
import { intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { type VoiceTurn, voice } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually as until } from '../fixtures/eventually.ts';
import { join, say, silence } from '../fixtures/speech.ts';

const check = leakCheck();
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const PLUGINS = [
  ...[
    'operations',
    'identity',
    'system',
    'http',
    'rpc',
    'events',
    'functions',
    'config',
    'supervisor-process',
    'apps',
    'intent',
  ],
  ...['audio-sim', 'audio', 'speech', 'vad-fvad', 'soundswallower', 'tts-flite', 'voice'],
];
let core: Core;

const invoke = <T>(name: string, params: object, ms = 10_000): Promise<T> =>
  core.service(operations).invoke(name, params, {
    caller: OPERATOR,
    signal: AbortSignal.timeout(ms),
    deadline: Date.now() + ms,
  }) as Promise<T>;

before(async () => {
  core = await startCore({
    plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
    config: { apps: { folders: ['docs/examples/agenda'] } },
  });
  const ready = async () => {
    const match = await core.service(intents).match('what is on my agenda today', { language: 'en' });
    const kinds = new Set((await core.service(speech).list()).map(({ kind }) => kind));
    const { capturing } = await invoke<{ capturing: string[] }>('audio.state', {});
    return match.outcome === 'plan' && kinds.size === 4 && capturing.length > 0 ? true : undefined;
  };
  await until(ready, 'the chain');
});
after(async () => {
  await core?.stop();
  await check();
});

/** What a file with speech leads to. */
async function hear(...parts: readonly Int16Array[]): Promise<VoiceTurn | undefined> {
  const [last] = await core.service(voice).turns(1);
  const samples = join(silence(400), ...parts, silence(1_500));
  const wav = Buffer.from(encodeWav({ rate: 16_000, samples })).toString('base64');
  await invoke('audio.inject', { wav, wait: true }, 60_000);
  const over = async () => {
    const { state } = await core.service(voice).state();
    return state === 'idle' ? true : undefined;
  };
  await until(over, 'the end of the turn');
  const [turn] = await core.service(voice).turns(1);
  return turn?.turn === last?.turn ? undefined : turn;
}

describe('a spoken command', { timeout: 300_000 }, () => {
  for (const [speaker, pause] of [
    ['slt', 0],
    ['rms', 900],
  ] as const)
    test(`by ${speaker}, ${pause} ms after the wake phrase, is done by the app and answered aloud`, async () => {
      const command = await say('what is on my agenda tomorrow', speaker);
      const turn = await hear(await say('hey computer', speaker), silence(pause), command);
      assert.ok(turn, 'the wake phrase was heard');
      assert.equal(turn.heard, 'what is on my agenda tomorrow');
      assert.deepEqual([turn.outcome, turn.said], ['answered', 'There is nothing on your agenda tomorrow.']);
      assert.equal(turn.stage, 'local');
      for (const name of ['wake', 'endpoint', 'stt', 'intent', 'call', 'tts'])
        assert.ok(
          turn.spans.some((span) => span.name === name),
          name,
        );
      assert.ok(turn.latencyMs! > 0 && turn.latencyMs! < 3_000, `${turn.latencyMs} ms`);
      const { wav, ms } = await invoke<{ wav: string; ms: number }>('audio.heard', {});
      const { samples } = decodeWav(Buffer.from(wav, 'base64'));
      assert.ok(ms > 1_000, `${ms} ms were heard`);
      assert.ok(
        samples.some((sample) => Math.abs(sample) > 3_000),
        'and it was loud',
      );
    });

  test('is nothing without the wake phrase', async () => {
    assert.equal(await hear(await say('what is on my agenda tomorrow', 'slt')), undefined);
  });

  test('of unknown words is refused, not guessed', async () => {
    const turn = await hear(
      await say('hey computer', 'slt'),
      await say('purple elephants never dance on sunday', 'slt'),
    );
    assert.equal(turn?.outcome, 'refused');
    assert.equal(turn?.plan, undefined);
  });

  for (const word of ['be quiet', 'hey computer'])
    test(`interrupts the speech of the device: ${word}`, async () => {
      const story =
        'Once upon a time there was a little mountain, and on the mountain there lived a bird that sang all day long.';
      const told = assert.rejects(core.service(voice).say(story), { code: 'CANCELLED' });
      await until(
        async () => ((await core.service(voice).state()).state === 'speaking' ? true : undefined),
        'the story',
      );
      const samples = join(silence(800), await say(word, 'rms'), silence(600));
      await invoke('audio.inject', { wav: Buffer.from(encodeWav({ rate: 16_000, samples })).toString('base64') });
      await told;
      await until(async () => ((await core.service(voice).state()).state === 'idle' ? true : undefined), 'the end');
    });

  for (const plugin of ['audio', 'speech'])
    test(`fails with its code when ${plugin} is restarted in the middle, and the next one works`, async () => {
      const turn = core.service(voice).listen();
      await until(
        async () => ((await core.service(voice).state()).state === 'listening' ? true : undefined),
        'its turn',
      );
      await invoke('plugins.restart', { id: plugin });
      assert.deepEqual([(await turn).outcome, (await turn).code], ['failed', 'AUDIO_UNAVAILABLE']);
      const heard = async () => {
        const { state, reason } = await core.service(voice).state();
        return state === 'idle' && reason === undefined ? true : undefined;
      };
      await until(heard, 'the next ear');
      const kinds = async () =>
        new Set((await core.service(speech).list()).map(({ kind }) => kind)).size === 4 ? true : undefined;
      await until(kinds, 'the engines');
      const next = await hear(await say('hey computer', 'slt'), await say('what is on my agenda tomorrow', 'slt'));
      assert.equal(next?.outcome, 'answered');
    });
});
