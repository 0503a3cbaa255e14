import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { audio } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import { type Timer, type TimersState, timers } from '@device-core/plugin-api/services/timers';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { stays } from '../../fixtures/eventually.ts';
import { eventually, start } from './start.ts';

after(leakCheck());

suite('intents of the device', () => {
  test('the volume is set, turned up and down within its bounds, and told', async () => {
    await using started = await start();
    const cases: [string, number, string | undefined][] = [
      ['set the volume to fifty percent', 0.5, undefined],
      ['volume 20%', 0.2, undefined],
      ['turn it up', 0.3, undefined],
      ['turn the volume down', 0.2, undefined],
      ['what is the volume', 0.2, 'The volume is twenty percent.'],
      ['turn volume to one hundred', 1, undefined],
      ['make it louder', 1, undefined],
      ['set volume to zero', 0, undefined],
      ['make it quieter', 0, undefined],
    ];
    for (const [text, volume, say] of cases) {
      assert.equal((await started.say(text)).say, say, text);
      assert.equal(started.speaker.volume, volume, text);
    }
    assert.equal((await started.match('set the volume to two hundred')).outcome, 'none');
  });

  test('the microphone is muted by voice', async () => {
    await using started = await start();
    assert.equal((await started.say('mute the microphone')).say, 'I do not listen any more.');
    assert.equal(started.speaker.muted, true);
  });

  test('without the audio service there is nothing to say about it, until it comes', async () => {
    await using started = await start();
    await started.host.disappear(audio);
    assert.equal((await started.match('turn it up')).outcome, 'none');
    await started.host.appear(audio, started.speaker);
    assert.equal((await started.match('turn it up')).outcome, 'plan');
  });

  test('it tells the time and what can be said, and stops', async () => {
    await using started = await start();
    assert.match((await started.say('What time is it?')).say ?? '', /^It is (\w+ ){1,3}?[\w']+( [\w']+)*\.$/);
    started.registry.put({ utterances: ['what is [up] next'] });
    await eventually('the app can be called', async () =>
      (await started.match('what is next')).outcome === 'plan' ? true : undefined,
    );
    assert.match((await started.say('what can I say')).say ?? '', /^You can say: what is up next, .* or .*\.$/);
    assert.deepEqual(await started.say('never mind'), { result: { silenced: false } });
    assert.equal((await started.plan('stop')).mayGoOn, true);
  });

  test('a timer is set, told, and cancelled', async () => {
    await using started = await start();
    const lengths: [string, number, RegExp][] = [
      ['set a timer for five minutes', 300, /^Timer for five minutes, starting now\.$/],
      ['start a ten second countdown', 10, /ten seconds/],
      ['set a timer for an hour and a half', 5_400, /one hour and thirty minutes/],
      ['timer for 2 hours and 1 minute', 7_260, /two hours and one minute/],
      ['set a timer for a quarter of an hour', 900, /fifteen minutes/],
    ];
    for (const [text, seconds, say] of lengths) {
      const answer = await started.say(text);
      assert.match(answer.say ?? '', say, text);
      assert.equal(answer.result?.seconds, seconds);
    }
    assert.match((await started.say('how long is left')).say ?? '', /^\w+ seconds?, (five|four) minutes.*, .* left\.$/);
    assert.equal((await started.say('cancel all timers')).say, 'Five timers are cancelled.');
    assert.equal((await started.say('how much time is left on the timer')).say, 'There is no timer.');
    const states = started.host.published.map(
      ({ topic, payload }) => `${topic} ${(payload as { state: string }).state}`,
    );
    assert.equal(states.filter((one) => one === 'plugin.intent.timer set').length, 5);
    assert.equal(states.filter((one) => one === 'plugin.intent.timer cancelled').length, 5);
  });

  test('a timer rings until a person says stop', async () => {
    await using started = await start();
    await started.say('set a timer for one second');
    await eventually('the alarm', () => (started.speaker.heard.includes('timer') ? true : undefined));
    await started.host.settle();
    const rang = started.host.published.filter(({ payload }) => (payload as { state: string }).state === 'rang');
    assert.equal(rang.length, 1);
    assert.deepEqual(await started.say('stop'), { result: { silenced: true } });
    const heard = started.speaker.heard.length;
    await stays(() => started.speaker.heard.length === heard, 'it is quiet', { ms: 1_200 });
  });

  for (const years of [10, -30]) {
    test(`a timer is a length: it rings when it should although the time of day jumps by ${years} years`, async () => {
      const clock = virtualClock({ now: 1_700_000_000_000 });
      await using started = await start({ clock });
      await started.say('set a timer for five minutes');
      clock.set(clock.now() + years * 365 * 24 * 3_600_000);
      await clock.advance(100_000);
      const left = (await started.say('how much time is left on the timer')).result as { seconds: number[] };
      assert.deepEqual(left.seconds, [200]);
      await clock.advance(199_000);
      assert.ok(!started.speaker.heard.includes('timer'));
      await clock.advance(2_000);
      assert.ok(started.speaker.heard.includes('timer'), 'it rings');
    });
  }

  test('the timers can be asked for, and each is ended by itself: while it runs, and while it rings', async () => {
    const clock = virtualClock();
    await using started = await start({ clock });
    const service = started.host.service(timers);
    const told: TimersState[] = [];
    using _ = service.onChange((state) => void told.push(state));
    const first = await service.set(60);
    const second = await service.set(60);
    await service.set(600);
    const idsOf = (list: readonly Timer[]) => list.map(({ id }) => id);
    assert.deepEqual(idsOf((await service.state()).running).slice(0, 2), [first.id, second.id]);
    assert.equal(await service.cancel('nobody'), false);
    await clock.advance(60_000);
    await eventually('both ring', async () => ((await service.state()).ringing.length === 2 ? true : undefined));
    assert.deepEqual(idsOf(told.at(-1)!.ringing), [first.id, second.id]);
    assert.equal(await service.cancel(first.id), true);
    assert.deepEqual(idsOf((await service.state()).ringing), [second.id]);
    assert.equal(await service.cancel(second.id), true);
    assert.deepEqual((await service.state()).ringing, []);
    assert.equal(await service.silence(), false);
    const [third] = (await service.state()).running;
    assert.equal(await service.cancel(third!.id), true);
    assert.deepEqual(await service.state(), { running: [], ringing: [] });
    assert.deepEqual(told.at(-1), { running: [], ringing: [] });
    const states = started.host.published.map(({ payload }) => (payload as { state: string }).state);
    assert.deepEqual(states, ['set', 'set', 'set', 'rang', 'rang', 'stopped', 'stopped', 'cancelled']);
  });

  test('a timer that ends while another rings prolongs the alarm, which ends by itself, heard or not', async () => {
    for (const broken of [undefined, new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason: 'no speaker' })]) {
      const clock = virtualClock();
      await using started = await start({ clock });
      started.speaker.broken = broken;
      const service = started.host.service(timers);
      await service.set(10);
      await service.set(30);
      await clock.advance(10_000);
      await clock.advance(25_000);
      assert.equal((await service.state()).ringing.length, 2, 'after 25 s');
      await clock.advance(20_000);
      assert.equal((await service.state()).ringing.length, 2, 'after 45 s');
      await clock.advance(6_000);
      assert.deepEqual(await service.state(), { running: [], ringing: [] });
    }
  });

  test('tools list, set and end timers', async () => {
    const clock = virtualClock();
    await using started = await start({ clock });
    const set = (await started.table.run('timers.set', { seconds: 60 })) as Timer;
    const again = (await started.table.run('timers.set', { seconds: 5 })) as Timer;
    const list = async () => (await started.table.run('timers.list', {})) as TimersState;
    assert.deepEqual(
      (await list()).running.map(({ id }) => id),
      [again.id, set.id],
    );
    await started.table.run('timers.cancel', { timer: set.id });
    await assert.rejects(started.table.run('timers.cancel', { timer: set.id }), { code: 'PARAMS_INVALID' });
    await clock.advance(5_000);
    assert.equal((await list()).ringing.length, 1);
    assert.deepEqual(await started.table.run('timers.silence', {}), { silenced: true });
    assert.deepEqual(await started.table.run('timers.silence', {}), { silenced: false });
    for (const seconds of [0, -1, 1.5, 86_401])
      await assert.rejects(started.table.run('timers.set', { seconds }), { code: 'PARAMS_INVALID' });
  });

  test('timers are bounded', async () => {
    await using started = await start({ config: { maxTimers: 2 } });
    await started.say('set a timer for one minute');
    await started.say('set a timer for two minutes');
    assert.equal((await started.say('set a timer for three minutes')).say, 'There are two timers already.');
  });

  test('a timer survives a restart, and one that ended meanwhile rings at once; one of yesterday is only told', async () => {
    await using first = await start();
    const { var: folder, ...paths } = first.host.device.paths;
    await first.say('set a timer for one minute');
    const file = join(folder, 'intent', 'timers.json');
    const { timers: kept } = JSON.parse(await readFile(file, 'utf8'));
    assert.equal(kept.length, 1);
    const late = { id: 'late', at: Date.now() - 60_000, seconds: 5 };
    const old = { id: 'old', at: Date.now() - 86_400_000, seconds: 5 };
    await writeFile(file, JSON.stringify({ timers: [...kept, late, old, { id: 7 }] }));
    const info = { ...first.host.device, paths: { ...paths, var: folder } };
    await using second = await start({
      services: [[device as never, { info: async () => info }]],
      isolation: 'inline',
    });
    await eventually('the alarm', () => (second.speaker.heard.includes('timer') ? true : undefined));
    assert.match(
      (await second.say('how long is left')).say ?? '',
      /^(One minute|([A-Z]\w+ ?)(\w+ ?)* seconds) left\.$/,
    );
    const ended = second.host.published.map(({ payload }) => payload as { state: string; id: string });
    assert.deepEqual(
      ended
        .filter(({ state }) => state === 'rang')
        .map(({ id }) => id)
        .sort(),
      ['late', 'old'],
    );
    assert.ok(second.host.logged.some(({ message }) => /some timers of the file make no sense/.test(message)));
    await second.say('stop');
  });

  test('a file of timers that is broken is told, and the plugin runs', async () => {
    await using first = await start();
    const folder = join(first.host.device.paths.var, 'broken');
    await mkdir(join(folder, 'intent'), { recursive: true });
    await writeFile(join(folder, 'intent', 'timers.json'), '{"timers": [');
    const info = { ...first.host.device, paths: { ...first.host.device.paths, var: folder } };
    await using second = await start({
      services: [[device as never, { info: async () => info }]],
      isolation: 'inline',
    });
    assert.ok(second.host.logged.some(({ message }) => /timers\.json.*what it held is lost/.test(message)));
    await second.say('set a timer for one minute');
  });

  test('a speaker that fails is told, and the timer is over', async () => {
    await using started = await start();
    started.speaker.broken = new CoreError('AUDIO_UNAVAILABLE', { reason: 'no speaker' });
    await started.say('set a timer for one second');
    await eventually(
      'it is told',
      () => started.host.logged.some(({ message }) => /alarm of a timer cannot be heard/.test(message)) || undefined,
    );
    assert.equal((await started.say('how long is left')).say, 'There is no timer.');
  });

  test('operations tell what a text means, and the grammar', async () => {
    await using started = await start();
    const match = (await started.table.run('intents.match', { text: 'what time is it' })) as {
      plan: { intent: string };
    };
    assert.equal(match.plan.intent, 'device.time');
    const none = (await started.table.run('intents.match', { text: 'x', language: 'it' })) as { outcome: string };
    assert.equal(none.outcome, 'none');
    assert.deepEqual(await started.table.run('intents.grammar', { language: 'it' }), {});
    const { grammar } = (await started.table.run('intents.grammar', {})) as { grammar: { id: string } };
    assert.equal(grammar.id, (await started.intents.grammar('en'))?.id);
    await started.host.stop();
    assert.deepEqual(started.table.names, []);
  });
});
