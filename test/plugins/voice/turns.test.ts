import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { audio } from '@device-core/plugin-api/services/audio';
import { intents } from '@device-core/plugin-api/services/intents';
import { speech } from '@device-core/plugin-api/services/speech';
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace, stays, eventually as until } from '../../fixtures/eventually.ts';
import { eventually, FakeIntents } from './fakes.ts';
import { start } from './started.ts';

after(leakCheck());

describe('turns of the voice', { concurrency: 4, timeout: 300_000 }, () => {
  it('a command in one breath with the wake phrase is heard, done and answered, and told on the bus', async () => {
    const { host, sound, events, over, states, known } = await start();
    await using _host = host;
    sound.say('_ _ hey-computer next _ _ _ _ _ _');
    const [turn] = await over();
    assert.ok(turn);
    assert.equal(turn.outcome, 'answered');
    assert.deepEqual(
      [turn.source, turn.wakeword, turn.heard, turn.stage, turn.said],
      ['wake', 'hey computer', 'next', 'local', 'Lunch at noon.'],
    );
    assert.deepEqual(known.ran, ['next']);
    assert.deepEqual(sound.played, ['Lunch at noon.']);
    const id = turn.turn;
    assert.deepEqual(events('audio.wake'), [{ turn: id, wakeword: 'hey computer', score: 0.9, source: 'wake' }]);
    assert.deepEqual(states(), ['listening', 'thinking', 'speaking', 'idle']);
    const [final] = events('audio.stt.final') as { latencyMs: number }[];
    const { latencyMs, ...rest } = final!;
    assert.deepEqual(rest, { turn: id, text: 'next', lang: 'en', confidence: 0.9, stage: 'local' });
    assert.ok(latencyMs >= 100, `${latencyMs}`);
    assert.ok(events('audio.stt.partial').length >= 1);
    assert.deepEqual([...events('audio.tts.start'), ...events('audio.tts.end')], [{ turn: id }, { turn: id }]);
    assert.deepEqual(turn.spans.map(({ name }) => name).toSorted(), [
      'call',
      'endpoint',
      'intent',
      'stt',
      'tts',
      'wake',
    ]);
    assert.ok(turn.latencyMs! > 100, `${turn.latencyMs}`);
  });

  it('a whole sentence ends sooner than one that may go on, and a pause in it is borne', async () => {
    const { host, sound, over } = await start();
    await using _host = host;
    sound.say('_ hey-computer next _ _ week _ _ _ _ _ _');
    const [turn] = await over();
    assert.equal(turn!.heard, 'next week');
  });

  it('keeps in the trace how sure the engine was, of which word least, and what it refused', async () => {
    const { host, engines, sound, over } = await start();
    await using _host = host;
    const about = { confidence: 0.38, unsure: 'next' };
    engines.stt.local.hears = () => ({ text: '', inGrammar: false, nearest: 'next week', ...about });
    sound.say('_ hey-computer next _ _ _ _ _ _');
    const [turn] = await over();
    const { heard, nearest, confidence, unsure, outcome } = turn!;
    assert.deepEqual(
      { heard, nearest, confidence, unsure, outcome },
      { heard: '', nearest: 'next week', ...about, outcome: 'refused' },
    );
  });

  it('waits for a command after the wake phrase alone, with a sound', async () => {
    const { host, sound, over, states } = await start();
    await using _host = host;
    sound.say('_ hey-computer _ _ _ _ _ _ _ next _ _ _ _ _');
    const [turn] = await over();
    assert.deepEqual([turn!.outcome, turn!.heard], ['answered', 'next']);
    assert.ok(sound.sounds.includes('wake'));
    assert.deepEqual(states(), ['listening', 'thinking', 'speaking', 'idle']);
  });

  it('is silent after silence, and does nothing without its phrase', async () => {
    const { host, sound, over, service, known } = await start({ limits: { listeningMs: 1_500 } });
    await using _host = host;
    sound.say('_ next _ _ _ _ _');
    await eventually('the end of the words', () => sound.quiet);
    assert.deepEqual(await service.turns(), []);
    sound.say('hey-computer _ _ _');
    const [turn] = await over();
    assert.equal(turn!.outcome, 'silent');
    assert.deepEqual(known.ran, []);
  });

  it('makes one turn of two wakes at once', async () => {
    const { host, sound, engines, over, events } = await start();
    await using _host = host;
    engines.wakeTwice = true;
    sound.say('_ hey-computer next _ _ _ _ _');
    assert.equal((await over()).length, 1);
    assert.equal(events('audio.wake').length, 1);
  });

  const refusals: readonly (readonly [title: string, said: string, turn: object, spoken: string])[] = [
    ['what nobody can do', 'dance', { outcome: 'refused', heard: 'dance' }, 'I cannot do that.'],
    ['what an app cannot do now', 'fail', { outcome: 'failed', code: 'UNAVAILABLE' }, 'Sorry, that did not work.'],
    ['an app that does not answer', 'slow', { outcome: 'failed', code: 'TIMEOUT' }, 'Sorry, there was no answer.'],
  ];
  for (const [title, said, expected, spoken] of refusals)
    it(`says so: ${title}`, async () => {
      const { host, sound, over } = await start();
      await using _host = host;
      sound.say(`_ hey-computer ${said} _ _ _ _ _`);
      const [turn] = await over();
      assert.deepEqual({ ...turn, ...expected }, turn);
      assert.equal(turn!.said, spoken);
      assert.deepEqual(sound.played, [spoken]);
    });

  it('drops an answer that comes too late, and tells it in the trace', async () => {
    const { host, service, sound } = await start();
    await using _host = host;
    const turn = await service.ask('slow');
    assert.equal(turn.code, 'TIMEOUT');
    await until(
      async () => (await service.turns())[0]!.spans.some(({ name }) => name === 'late'),
      'the late answer in the trace',
    );
    assert.deepEqual(sound.played, ['Sorry, there was no answer.']);
  });

  it('answers without words by a sound', async () => {
    const { host, service, sound } = await start();
    await using _host = host;
    assert.equal((await service.ask('quiet')).outcome, 'answered');
    assert.deepEqual([sound.sounds, sound.played], [['done'], []]);
  });

  it('asks back where two things may be meant, and listens once more', async () => {
    const { host, sound, over } = await start();
    await using _host = host;
    sound.say('_ hey-computer both _ _ _ _ _');
    await eventually('the question', () => sound.played.length > 0);
    await pace(120); // the person thinks
    sound.say('next _ _ _ _ _');
    const [second, first] = await over(2);
    assert.deepEqual([first!.outcome, first!.said], ['refused', 'Did you mean this, or that?']);
    assert.deepEqual([second!.source, second!.outcome], ['follow-up', 'answered']);
  });

  it('lets an app ask back without a wake phrase', async () => {
    const { host, sound, over, service } = await start();
    await using _host = host;
    await service.ask('call me');
    sound.say('_ quiet _ _ _ _ _');
    const [second] = await over(2);
    assert.deepEqual([second!.source, second!.heard, second!.outcome], ['follow-up', 'quiet', 'answered']);
  });

  it('is interrupted by a stop word while it speaks, and by its phrase', async () => {
    const { host, sound, over, becomes, service, events } = await start();
    await using _host = host;
    sound.playMs = 2_000;
    const asked = service.ask('next');
    await becomes('speaking');
    sound.say('_ stop _ _ _ _');
    assert.deepEqual([(await asked).outcome, (await asked).code], ['cancelled', 'CANCELLED']);
    assert.equal(events('audio.tts.end').length, 1);
    await pace(500); // what the microphone heard of the former sound is over
    const again = service.ask('next');
    await becomes('speaking');
    sound.say('_ hey-computer quiet _ _ _ _ _');
    assert.equal((await again).outcome, 'cancelled');
    const [turn] = await over(3);
    assert.deepEqual([turn!.heard, turn!.outcome], ['quiet', 'answered']);
  });

  it('does not hear itself: what it says is no call, and nothing is where calls are suspended', async () => {
    const own = { own: async () => ({ say: 'Say hey computer, or stop.' }), next: async () => ({ say: 'Lunch.' }) };
    for (const [whileSpeaking, question] of [
      ['strict', 'own'],
      ['suspend', 'next'],
    ] as const) {
      const { host, sound, becomes, service } = await start({ whileSpeaking }, own);
      await using _host = host;
      sound.playMs = 900;
      const asked = service.ask(question);
      await becomes('speaking');
      sound.say('hey-computer _ _ _ _ stop _ _ _');
      assert.equal((await asked).outcome, 'answered', whileSpeaking);
      assert.equal((await service.turns()).length, 1);
    }
  });

  it('reads nothing from the microphone while it is muted, refuses to listen, and answers text all the same', async () => {
    const { host, sound, service, becomes, states } = await start();
    await using _host = host;
    sound.say('_ hey-computer _');
    await becomes('listening');
    await service.mute(true);
    assert.equal(sound.muted, true);
    const { captured } = sound;
    await stays(() => sound.captured === captured, 'nothing is captured');
    assert.equal((await service.turns())[0]!.code, 'VOICE_MUTED');
    await assert.rejects(service.listen(), { code: 'VOICE_MUTED' });
    assert.equal((await service.ask('next')).outcome, 'answered');
    await service.say('Hello.');
    assert.equal((await service.state()).state, 'muted');
    await service.mute(false);
    await eventually('frames', () => sound.captured > captured);
    assert.deepEqual(states().slice(0, 2), ['listening', 'muted']);
    assert.equal(states().at(-1), 'idle');
    // Who mutes the device itself mutes the voice.
    await sound.setMuted(true);
    await becomes('muted');
  });

  it('listens without a wake phrase when asked, once at a time, until its caller goes', async () => {
    const { host, sound, service, becomes } = await start();
    await using _host = host;
    const heard = service.listen();
    sound.say('_ next _ _ _ _ _');
    assert.deepEqual([(await heard).source, (await heard).heard], ['button', 'next']);
    await becomes('idle');
    const stop = new AbortController();
    const first = service.listen({ signal: stop.signal });
    await becomes('listening');
    await assert.rejects(service.listen(), { code: 'BUSY' });
    await assert.rejects(service.ask('next'), { code: 'BUSY' });
    stop.abort();
    assert.equal((await first).outcome, 'cancelled');
    await becomes('idle');
  });

  it('announces one after the other, not while it listens, and not without bound', async () => {
    const { host, sound, service, becomes } = await start({ sayQueue: 2 });
    await using _host = host;
    const listening = service.listen();
    await becomes('listening');
    const said = [service.say('One.'), service.say('Two.')];
    await assert.rejects(service.say('Three.'), { code: 'BUSY' });
    await stays(() => sound.played.length === 0, 'nothing is said');
    sound.say('next _ _ _ _ _');
    await listening;
    await Promise.all(said);
    assert.deepEqual(sound.played, ['Lunch at noon.', 'One.', 'Two.']);
    const stop = new AbortController();
    sound.playMs = 2_000;
    const long = service.say('A long story.', { signal: stop.signal });
    await becomes('speaking');
    stop.abort();
    await assert.rejects(long, { code: 'CANCELLED' });
  });

  it('is in error when speech fails or does not begin, tells so, and heals', async () => {
    const { host, sound, engines, service, becomes, states } = await start({ limits: { ttsStartMs: 1_500 } });
    await using _host = host;
    engines.ttsFails = new CoreError('SPEECH_FAILED', { engine: 'fake', reason: 'no voice' });
    const turn = await service.ask('next');
    assert.deepEqual([turn.outcome, turn.code], ['failed', 'SPEECH_FAILED']);
    assert.deepEqual(await service.state(), { state: 'error', reason: 'SPEECH_FAILED' });
    await becomes('idle');
    assert.deepEqual(sound.sounds, ['error']);
    await assert.rejects(service.say('Hello.'), { code: 'SPEECH_FAILED' });
    engines.ttsFails = undefined;
    engines.ttsHangs = true;
    await assert.rejects(service.say('Hello.'), { code: 'SPEECH_FAILED' });
    engines.ttsHangs = false;
    await becomes('idle');
    assert.equal((await service.ask('next')).outcome, 'answered');
    assert.ok(states().includes('error'));
  });

  it('fails the turn when a plugin of the chain is swapped in the middle, and the next one works', async () => {
    const { host, sound, engines, service, becomes } = await start();
    await using _host = host;
    const first = service.listen();
    await becomes('listening');
    await host.disappear(audio);
    assert.deepEqual([(await first).outcome, (await first).code], ['failed', 'AUDIO_UNAVAILABLE']);
    await assert.rejects(service.listen(), { code: 'AUDIO_UNAVAILABLE' });
    await host.appear(audio, sound);
    await becomes('idle');
    await host.disappear(intents);
    assert.deepEqual([(await service.ask('next')).code], ['SERVICE_MISSING']);
    await host.appear(intents, new FakeIntents({ next: async () => ({ say: 'Tea.' }) }).service());
    await host.disappear(speech);
    await host.appear(speech, engines.service());
    const { captured } = sound;
    await eventually('frames', () => sound.captured > captured + 2);
    const heard = service.listen();
    sound.say('next _ _ _ _ _');
    assert.equal((await heard).said, 'Tea.');
  });

  it('goes over to a detector of speech that is to be asked first when it comes', async () => {
    const voice = await start();
    await using _host = voice.host;
    const { engines } = voice;
    engines.changed(['energy']);
    await eventually('the one that is there', () => engines.detecting === 1);
    await voice.host.settle();
    engines.changed(['energy', 'other']);
    await voice.host.settle();
    engines.changed(['fvad', 'energy']);
    await eventually('the better one', () => engines.detecting === 2);
    voice.sound.say('_ _ hey-computer next _ _ _ _ _ _');
    const [turn] = await voice.over();
    assert.equal(turn?.outcome, 'answered');
    assert.equal(engines.detecting, 2);
  });

  it('listens again by itself when the microphone was lost', async () => {
    const { host, sound, service, becomes } = await start();
    await using _host = host;
    const listening = service.listen();
    await becomes('listening');
    sound.broken = new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: 'it was unplugged' });
    assert.deepEqual([(await listening).outcome, (await listening).code], ['failed', 'AUDIO_UNAVAILABLE']);
    sound.broken = undefined;
    const { captured } = sound;
    await eventually('frames', () => sound.captured > captured + 2);
    await becomes('idle');
  });

  it('keeps no former try to listen again: a device whose engines come and go holds one at most', async () => {
    // What its scope holds is seen in its own thread only.
    const { host, sound, engines } = await start({ retryMs: 10_000 }, {}, 'inline');
    await using _host = host;
    const tries = () => host.leaks().filter((label) => label === 'listening again').length;
    sound.broken = new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: 'it was unplugged' });
    for (let round = 0; round < 5; round++) {
      await eventually('a try that is planned', () => tries() > 0);
      assert.equal(tries(), 1, `round ${round}`);
      await host.disappear(speech);
      await host.settle();
      assert.equal(tries(), 0, 'nothing to listen with');
      await host.appear(speech, engines.service());
    }
  });

  it('listens at once when an engine comes while the ear is being told that there is none', async () => {
    const { host, engines } = await start({ retryMs: 10_000 }, {}, 'inline');
    await using _host = host;
    const told = Promise.withResolvers<void>();
    engines.missing = told.promise;
    const { detecting } = engines;
    await host.disappear(speech);
    await host.appear(speech, engines.service());
    await eventually('the question', () => engines.detecting === detecting + 1);
    engines.changed(['energy']);
    engines.missing = undefined;
    told.resolve();
    const later = () => host.leaks().includes('listening again');
    await eventually('the next question, or a try that is planned', () => later() || engines.detecting > detecting + 1);
    assert.equal(later(), false, 'it waits, although the engine is there');
    assert.equal(engines.detecting, detecting + 2);
  });

  it('offers its operations, and leaves nothing behind in the middle of a turn', async () => {
    const { host, sound, table, becomes, service } = await start();
    const asked = (await table.run('voice.ask', { text: 'next' })) as VoiceTurn;
    assert.equal(asked.said, 'Lunch at noon.');
    assert.deepEqual(await table.run('voice.say', { text: 'Hello.' }), {});
    assert.equal(sound.played.at(-1), 'Hello.');
    assert.deepEqual(await table.run('voice.mute', { muted: true }), { muted: true });
    assert.deepEqual(await table.run('voice.state', {}), { state: 'muted', muted: true });
    await table.run('voice.mute', { muted: false });
    assert.equal(((await table.run('voice.turns', { limit: 1 })) as { turns: unknown[] }).turns.length, 1);
    assert.deepEqual(await table.run('voice.ledger', {}), {
      entries: [],
      unsent: [],
      used: { daySeconds: 0, monthSeconds: 0 },
    });
    await eventually('an ear', () => sound.captured > 5);
    sound.playMs = 2_000;
    const listening = service.listen().then(
      ({ outcome }) => outcome,
      () => 'gone',
    );
    await becomes('listening');
    await host.stop();
    assert.match(await listening, /cancelled|gone/);
    assert.deepEqual(table.names, []);
    assert.deepEqual(host.leaks(), []);
  });
});
