/** The face and the screen of a turn, beside a voice that does what the test says. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Latest } from '@device-core/plugin-api/audio';
import { type Apps, apps } from '@device-core/plugin-api/services/apps';
import { type Audio, audio } from '@device-core/plugin-api/services/audio';
import { display } from '@device-core/plugin-api/services/display';
import { type Intents, intents } from '@device-core/plugin-api/services/intents';
import type { AudioLevel } from '@device-core/plugin-api/services/renderer';
import { type Voice, type VoiceTurn, voice } from '@device-core/plugin-api/services/voice';
import { createTestHost, given, leakCheck, type VirtualClock, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/character/index.ts';
import { LANGUAGES, stringsOf } from '../../../plugins/display/character/strings.ts';
import { PIP_TEXT } from '../../fixtures/character.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { FakeDisplay } from '../../fixtures/fake-display.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/display/character.yaml');

const SURFACE = 'turn';

class FakeVoice {
  state: Awaited<ReturnType<Voice['state']>> = { state: 'idle' };
  turns: VoiceTurn[] = [];
  readonly asked: string[] = [];

  readonly service = given(voice, {
    state: async () => this.state,
    turns: async () => this.turns,
    stop: async (turn) => void this.asked.push(`stop ${turn}`),
    mute: async (muted) => void this.asked.push(`mute ${muted}`),
  });

  /** What is known of the turn. */
  knows(facts: Partial<VoiceTurn>): void {
    this.turns = [{ turn: 't1', at: 0, source: 'wake', outcome: 'running', spans: [], ...this.turns[0], ...facts }];
  }
}

class FakeLevels {
  readonly asked: string[] = [];
  #queue: Latest<AudioLevel> | undefined;
  readonly service = given(audio, {
    levels: ({ priority, signal }: Parameters<Audio['levels']>[0]) => {
      this.asked.push(priority ?? 'all');
      const queue = new Latest<AudioLevel>(100);
      this.#queue = queue;
      signal.addEventListener('abort', () => queue.close(), { once: true });
      return queue;
    },
  });

  say(level: AudioLevel): void {
    this.#queue?.push(level);
  }
}

const sentence = (id: string, owner: string, example: string) => ({ id, owner, example, title: id });

async function start(
  options: { readonly config?: object; readonly clock?: VirtualClock; readonly voice?: FakeVoice } = {},
) {
  const screen = new FakeDisplay();
  const talker = options.voice ?? new FakeVoice();
  const levels = new FakeLevels();
  const known = given(intents, {
    list: async () => [
      sentence('device.time', 'plugin:intent', 'What time is it?'),
      sentence('com.example.agenda.today', 'app:com.example.agenda', 'What is next today?'),
    ],
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  } satisfies Partial<Intents>);
  const installed = given(apps, { status: async () => ({ title: 'Agenda' }) as Awaited<ReturnType<Apps['status']>> });
  const host = await createTestHost(plugin, {
    manifest,
    ...(options.config && { config: options.config }),
    ...(options.clock && { clock: options.clock, isolation: 'inline' }),
    services: [[display, screen.service], talker.service, levels.service, known, installed],
  });
  await eventually(() => screen.figure !== undefined, 'the drawing');
  return {
    host,
    screen,
    voice: talker,
    levels,
    wake: () => host.publish('audio.wake', { turn: 't1', wakeword: 'hey computer', score: 1, source: 'wake' }),
    state: (state: string, turn?: string) => host.publish('audio.state', { state, ...(turn && { turn }) }),
    heard: (text: string, stage = 'local', kind = 'partial') =>
      host.publish(`audio.stt.${kind}`, { turn: 't1', text, lang: 'en', stage, latencyMs: 0 }),
    shows: (...texts: string[]) =>
      eventually(() => {
        const shown = screen.texts(SURFACE);
        for (const text of texts) assert.ok(shown.includes(text), `${text} in ${shown.join(' | ')}`);
        return true;
      }, texts.join(', ')),
    gone: () => eventually(() => !screen.surfaces.has(SURFACE), 'the end of the turn on the screen'),
    wears: (state: string, expression: string) =>
      eventually(() => {
        assert.deepEqual(screen.poses.at(-1), { state, expression });
        return true;
      }, `${state} ${expression}`),
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

describe('the plugin character', () => {
  it('follows the voice with its face, and shows for a moment how a turn ended', async () => {
    for (const [outcome, expression] of [
      ['answered', 'happy'],
      ['refused', 'confused'],
      ['failed', 'sad'],
    ] as const) {
      const clock = virtualClock();
      await using device = await start({ clock });
      for (const state of ['listening', 'thinking', 'speaking'] as const) {
        device.voice.knows({ plan: { intent: 'x', title: '', slots: {}, text: '', mayGoOn: false } });
        device.state(state, 't1');
        await device.wears(state, 'neutral');
      }
      device.voice.knows({ outcome });
      device.state(outcome === 'failed' ? 'error' : 'idle', 't1');
      await device.wears(outcome === 'failed' ? 'error' : 'idle', expression);
      await clock.advance(2_600);
      await device.wears(outcome === 'failed' ? 'error' : 'idle', 'neutral');
    }
  });

  it('shows that it is muted, from the beginning where it is', async () => {
    const talker = new FakeVoice();
    talker.state = { state: 'muted' };
    await using device = await start({ voice: talker });
    await device.wears('muted', 'neutral');
    device.state('idle');
    await device.wears('idle', 'neutral');
    device.state('muted');
    await device.wears('muted', 'neutral');
    assert.equal(device.screen.surfaces.has(SURFACE), false);
  });

  it('looks confused while it says that it did not understand', async () => {
    await using device = await start();
    device.voice.knows({ heard: 'blah', said: 'I did not understand that.' });
    device.state('thinking', 't1');
    device.state('speaking', 't1');
    await device.wears('speaking', 'confused');
  });

  it('moves its mouth with what the voice says, and with nothing else', async () => {
    await using device = await start();
    assert.deepEqual(device.levels.asked, []);
    device.state('speaking', 'announcement');
    await eventually(() => device.levels.asked.length === 1, 'the levels');
    assert.deepEqual(device.levels.asked, ['speech']);
    const level = { at: 1, rms: 0.2, brightness: 0.1 };
    device.levels.say(level);
    await eventually(() => device.screen.levels.length === 1, 'a level');
    assert.deepEqual(device.screen.levels, [level]);
    device.state('idle');
    await device.wears('idle', 'neutral');
    device.levels.say(level);
    device.state('speaking', 'another');
    await eventually(() => device.levels.asked.length === 2, 'the levels again');
    assert.equal(device.screen.levels.length, 1);
  });

  it('shows a turn: sentences, heard words, the asked app, the answer; then it goes', async () => {
    const clock = virtualClock();
    await using device = await start({ clock });
    device.wake();
    await device.shows('I’m listening', 'You can say', '“What is next today?”', '“What time is it?”');
    assert.equal(device.screen.surfaces.get(SURFACE)?.surface.layer, 'voice');
    assert.ok(device.screen.asked.includes('wake voice'));
    device.state('listening', 't1');
    device.heard('what is on');
    await device.shows('“what is on”', 'Stays on this device');
    device.heard('what is on tomorrow', 'local', 'final');
    device.voice.knows({
      heard: 'what is on tomorrow',
      stage: 'local',
      plan: { intent: 'com.example.agenda.today', title: 'Today', slots: {}, text: '', mayGoOn: false },
    });
    device.state('thinking', 't1');
    await device.shows('“what is on tomorrow”', 'Agenda · Stays on this device');
    device.voice.knows({ said: 'Lunch at noon.' });
    device.state('speaking', 't1');
    await device.shows('“what is on tomorrow”', 'Lunch at noon.', 'Agenda · Stays on this device');
    device.voice.knows({ outcome: 'answered' });
    device.state('idle', 't1');
    await device.wears('idle', 'happy');
    await clock.advance(2_000);
    assert.ok(device.screen.surfaces.has(SURFACE), 'there is time to read it');
    await clock.advance(2_000);
    await device.gone();
  });

  it('says where words went to the cloud', async () => {
    await using device = await start();
    device.wake();
    device.heard('who was', 'cloud');
    await device.shows('Sent to the cloud');
  });

  it('shows a turn that was typed', async () => {
    await using device = await start();
    device.voice.knows({ source: 'text', heard: 'what time is it' });
    device.state('thinking', 't1');
    await device.shows('“what time is it”');
    device.voice.knows({ said: 'Ten past nine.' });
    device.state('speaking', 't1');
    await device.shows('Ten past nine.');
  });

  it('shows no screen for an announcement: it is no turn', async () => {
    await using device = await start();
    device.state('speaking', 'announcement');
    await device.wears('speaking', 'neutral');
    device.state('idle');
    await device.wears('idle', 'neutral');
    assert.equal(device.screen.asked.includes(`put ${SURFACE}`), false);
  });

  it('goes at once after silence or a stop', async () => {
    for (const outcome of ['silent', 'cancelled'] as const) {
      await using device = await start();
      device.wake();
      await device.shows('I’m listening');
      device.voice.knows({ outcome });
      device.state('idle', 't1');
      await device.gone();
    }
  });

  it('ends with a touch, wherever it was', async () => {
    await using device = await start();
    device.wake();
    await device.shows('I’m listening');
    assert.deepEqual(device.screen.taps(SURFACE), ['end', 'mute']);
    assert.equal(device.screen.surfaces.get(SURFACE)?.surface.modal, true);
    device.screen.touch(SURFACE, { tap: 'end' });
    await device.gone();
    await eventually(() => device.voice.asked.length > 0, 'the stop');
    assert.deepEqual(device.voice.asked, ['stop t1']);
  });

  it('has a button that mutes', async () => {
    await using device = await start();
    device.wake();
    await device.shows('I’m listening');
    device.screen.touch(SURFACE, { tap: 'mute' });
    await device.gone();
    await eventually(() => device.voice.asked.length > 0, 'the mute');
    assert.deepEqual(device.voice.asked, ['mute true']);
  });

  it('a follow-up takes the place of the turn before it', async () => {
    await using device = await start();
    device.wake();
    await device.shows('I’m listening');
    device.voice.knows({ outcome: 'answered', said: 'Who?' });
    device.state('idle', 't1');
    await device.shows('Who?');
    device.state('listening', 't2');
    await device.shows('I’m listening');
    assert.equal(device.screen.texts(SURFACE).includes('Who?'), false);
  });

  it('heard words are shown as they are: braces bind nothing, marks of direction and controls do nothing', async () => {
    await using device = await start();
    device.wake();
    device.heard(`{time:HH:mm} \u0007 ${'long '.repeat(1_000)}`);
    await eventually(() => device.screen.texts(SURFACE).some((text) => text.startsWith('“{{time')), 'the words');
  });

  it('speaks the languages of its catalogue, each with all of its words', async () => {
    for (const language of LANGUAGES) {
      const strings = Object.entries(stringsOf(`${language}-XX`));
      assert.deepEqual(strings.map(([name]) => name).toSorted(), Object.keys(stringsOf('en')).toSorted());
      for (const [name, text] of strings) assert.ok(text.length > 0, name);
    }
    assert.deepEqual(stringsOf('ja'), stringsOf('en'));
    await using device = await start();
    device.wake();
    await device.shows('I’m listening');
    device.screen.surround({ locale: 'de-DE' });
    await device.shows('Ich höre zu', 'Sag zum Beispiel', '„What is next today?“');
  });

  it('takes another character from a folder; one that is broken is told, and Pip stands in', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'character-'));
    try {
      await writeFile(join(folder, 'character.yaml'), PIP_TEXT.replace('title: Pip', 'title: Pop'));
      {
        await using device = await start({ config: { character: folder } });
        assert.equal(device.screen.figure?.title, 'Pop');
      }
      await writeFile(join(folder, 'character.yaml'), PIP_TEXT.replace('title: Pip', 'titel: Pip'));
      await using device = await start({ config: { character: folder } });
      assert.equal(device.screen.figure?.title, 'Pip');
      const told: string[] = [];
      await device.host.hook('health.collect').promise({
        add: (_, { message }) => void told.push(message ?? ''),
        bridge: () => undefined,
        warn: () => undefined,
      });
      assert.match(told.join(), /line 3, \/titel/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
