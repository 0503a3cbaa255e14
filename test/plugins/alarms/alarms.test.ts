import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { AlarmsState } from '@device-core/plugin-api/services/alarms';
import { leakCheck } from '@device-core/plugin-api/testing';
import { HOUR, MINUTE, MONDAY, type Options, type Started, start } from './start.ts';

after(leakCheck());

const at = (iso: string) => Date.parse(iso);
/** Starts the plugin again on a copy of the files, as they were when the power went. */
async function again({ folder }: Started, options: Options): Promise<Started> {
  const copy = join(folder, crypto.randomUUID());
  await mkdir(join(copy, 'alarms'), { recursive: true });
  await writeFile(join(copy, 'alarms', 'alarms.json'), await readFile(join(folder, 'alarms', 'alarms.json')));
  return start({ ...options, folder: copy });
}

suite('alarms', () => {
  test('an alarm rings at its time once, softly first, until it is dismissed', async () => {
    await using started = await start();
    const set = await started.run('alarms.set', { time: '07:00' });
    assert.equal(set.next, at('2026-11-30T07:00+01:00'));
    await started.clock.advance(HOUR - 1_000);
    assert.deepEqual(started.heard, []);
    await started.clock.advance(10_000);
    assert.deepEqual(started.heard.slice(0, 5), ['timer 0.25', 'timer 0.5', 'timer 0.75', 'timer 1', 'timer 1']);
    const { alarms, ringing } = await started.state();
    assert.deepEqual([alarms, ringing.map(({ id }) => id)], [[], [set.id]]);
    assert.deepEqual(await started.run('alarms.dismiss'), { dismissed: 1, missed: 0 });
    const count = started.heard.length;
    await started.clock.advance(25 * HOUR);
    assert.equal(started.heard.length, count);
    assert.deepEqual(started.events(), ['set', 'rang', 'stopped']);
    assert.deepEqual(await started.run('alarms.dismiss'), { dismissed: 0, missed: 0 });
  });

  test('one that repeats rings on its days, and stays', async () => {
    await using started = await start();
    await started.run('alarms.set', { time: '06:30', days: ['fri', 'mon', 'mon'] });
    assert.deepEqual((await started.state()).alarms[0]!.days, ['mon', 'fri']);
    await started.clock.advance(8 * 24 * HOUR);
    assert.equal(started.events().filter((event) => event === 'rang').length, 3);
    assert.equal((await started.state()).alarms[0]!.next, at('2026-12-11T06:30+01:00'));
  });

  test('an alarm without an answer gives up, and is told as missed until that is dismissed', async () => {
    await using started = await start({ config: { ringSeconds: 60 } });
    const { id } = await started.run('alarms.set', { time: '06:10', text: 'water the plants' });
    await started.clock.advance(11 * MINUTE);
    const { missed, ringing, alarms } = await started.state();
    assert.deepEqual([ringing, alarms], [[], []]);
    assert.deepEqual(missed, [
      { id, kind: 'reminder', at: MONDAY + 10 * MINUTE, text: 'water the plants', why: 'unanswered' },
    ]);
    assert.deepEqual(await started.run('alarms.dismiss'), { dismissed: 0, missed: 1 });
    assert.deepEqual((await started.state()).missed, []);
  });

  test('a reminder is read aloud between its sounds', async () => {
    await using started = await start();
    await started.run('alarms.set', { seconds: 60, text: ' water   the plants ' });
    await started.clock.advance(65_000);
    assert.deepEqual(started.heard.slice(0, 5), [
      'timer 0.25',
      'water the plants',
      'timer 0.5',
      'water the plants',
      'timer 0.75',
    ]);
  });

  test('snooze puts off what rings, by its own time or one that is named, and one that repeats keeps its day', async () => {
    await using started = await start();
    await started.run('alarms.set', { time: '07:00', days: ['mon'] });
    assert.deepEqual(await started.run('alarms.snooze'), { snoozed: 0, seconds: 540 });
    await started.clock.advance(HOUR + 1_000);
    assert.deepEqual(await started.run('alarms.snooze'), { snoozed: 1, seconds: 540 });
    const [snoozed] = (await started.state()).alarms;
    assert.equal(snoozed!.snoozed, true);
    assert.equal(snoozed!.next, started.clock.now() + 540_000);
    await started.clock.advance(541_000);
    assert.equal((await started.state()).ringing.length, 1);
    await started.run('alarms.snooze', { seconds: 60 });
    await started.clock.advance(61_000);
    assert.equal((await started.state()).ringing.length, 1);
    await started.service.silence();
    assert.equal((await started.state()).alarms[0]!.next, at('2026-12-07T07:00+01:00'));
  });

  test('an alarm is changed, switched off and on, and removed', async () => {
    await using started = await start();
    const { id } = await started.run('alarms.set', { time: '07:00', days: ['mon', 'tue'] });
    await started.run('alarms.change', { alarm: id, on: false });
    assert.deepEqual((await started.state()).alarms, [
      { id, kind: 'alarm', time: '07:00', days: ['mon', 'tue'], on: false },
    ]);
    await started.clock.advance(2 * HOUR);
    assert.deepEqual(started.heard, []);
    assert.equal((await started.run('alarms.change', { alarm: id, on: true })).next, at('2026-12-01T07:00+01:00'));
    const changed = await started.run('alarms.change', { alarm: id, time: '09:30', days: [], text: 'tea' });
    assert.deepEqual([changed.next, changed.days, changed.text], [at('2026-11-30T09:30+01:00'), undefined, 'tea']);
    await started.run('alarms.cancel', { alarm: id });
    await assert.rejects(started.run('alarms.cancel', { alarm: id }), { code: 'PARAMS_INVALID' });
    assert.deepEqual((await started.state()).alarms, []);
  });

  const refusals: Readonly<Record<string, readonly [name: string, params: object, reason: RegExp]>> = {
    'neither time nor length': ['alarms.set', {}, /either a time or a length/],
    'time and length': ['alarms.set', { time: '07:00', seconds: 5 }, /either a time or a length/],
    'a date that passed': ['alarms.set', { time: '05:00', date: '2026-11-30' }, /has passed/],
    'a date that is none': ['alarms.set', { time: '05:00', date: '2026-02-30' }, /is no date/],
    'a date and days': ['alarms.set', { time: '05:00', date: '2026-12-30', days: ['mon'] }, /repeats has no date/],
    'a length with days': ['alarms.set', { seconds: 5, days: ['mon'] }, /neither days nor a date/],
    'a length that is too long': ['alarms.set', { seconds: 700_000 }, /604800/],
    'a time that is none': ['alarms.set', { time: '24:00' }, /time/],
    'a text that is too long': ['alarms.set', { seconds: 5, text: 'x'.repeat(201) }, /200/],
    'an unknown day': ['alarms.set', { time: '07:00', days: ['someday'] }, /days/],
    'an unknown alarm': ['alarms.change', { alarm: 'none', on: false }, /no alarm none/],
  };
  for (const [what, [name, params, reason]] of Object.entries(refusals))
    test(`${what} is refused`, async () => {
      await using started = await start();
      await assert.rejects(started.run(name, params), (error: CoreError) => {
        assert.equal(error.code, 'PARAMS_INVALID');
        assert.match(error.message, reason);
        return true;
      });
      assert.deepEqual((await started.state()).alarms, []);
    });

  test('a length has a text alone to be changed, and alarms are bounded', async () => {
    await using started = await start({ config: { maxAlarms: 2 } });
    const { id } = await started.run('alarms.set', { seconds: 60 });
    await assert.rejects(started.run('alarms.change', { alarm: id, time: '07:00' }), { code: 'PARAMS_INVALID' });
    assert.equal((await started.run('alarms.change', { alarm: id, text: 'tea' })).text, 'tea');
    await started.run('alarms.set', { seconds: 60 });
    await assert.rejects(started.run('alarms.set', { seconds: 60 }), { code: 'QUEUE_FULL' });
  });

  test('without a speaker it rings for those who see it', async () => {
    const broken = new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason: 'no speaker' });
    await using started = await start({ broken });
    await started.run('alarms.set', { seconds: 60 });
    await started.clock.advance(2 * MINUTE);
    assert.equal((await started.state()).ringing.length, 1);
    assert.ok(started.host.logged.some(({ message }) => /the alarm of an alarm cannot be heard/.test(message)));
  });

  test('listeners hear of each change, and no text is in an event or a log', async () => {
    await using started = await start();
    const told: AlarmsState[] = [];
    using _ = started.service.onChange((state) => void told.push(state));
    await started.run('alarms.set', { seconds: 60, text: 'a secret errand' });
    await started.clock.advance(MINUTE);
    await started.service.silence();
    assert.deepEqual(
      told.map(({ alarms, ringing }) => [alarms.length, ringing.length]),
      [
        [1, 0],
        [0, 1],
        [0, 0],
      ],
    );
    assert.doesNotMatch(JSON.stringify([started.host.published, started.host.logged]), /errand/);
  });
});

suite('clocks, zones and restarts', () => {
  test('the clock goes forward over an alarm: it rings within the minute, or is missed where that is too much', async () => {
    for (const [jump, event] of [
      [65 * MINUTE, 'rang'],
      [9 * HOUR, 'missed'],
    ] as const) {
      await using started = await start();
      await started.run('alarms.set', { time: '07:00' });
      started.clock.set(started.clock.now() + jump);
      await started.clock.advance(MINUTE);
      assert.deepEqual(started.events(), ['set', event]);
    }
  });

  test('the clock goes back: a time rings once a date, and a year that was wrong is forgotten', async () => {
    await using started = await start();
    await started.run('alarms.set', { time: '07:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] });
    await started.clock.advance(HOUR + 1_000);
    await started.service.silence();
    started.clock.set(MONDAY);
    await started.clock.advance(2 * HOUR);
    assert.equal(started.events().filter((event) => event === 'rang').length, 1);
    started.clock.set(MONDAY - 365 * 24 * HOUR);
    await started.clock.advance(2 * HOUR);
    assert.equal(started.events().filter((event) => event === 'rang').length, 2);
  });

  for (const years of [10, -30])
    test(`a length rings when it is over although the clock jumps by ${years} years`, async () => {
      await using started = await start();
      await started.run('alarms.set', { seconds: 300 });
      started.clock.set(started.clock.now() + years * 365 * 24 * HOUR);
      await started.clock.advance(299_000);
      assert.deepEqual(started.events(), ['set']);
      await started.clock.advance(2_000);
      assert.deepEqual(started.events(), ['set', 'rang']);
    });

  test('in another zone a time is that of the wall there', async () => {
    await using started = await start();
    await started.run('alarms.set', { time: '07:00' });
    await started.run('alarms.set', { time: '07:00', days: ['mon'] });
    started.host.publish('system.time', { set: true, zone: 'America/New_York' });
    await started.host.settle();
    const { alarms, zone } = await started.state();
    assert.equal(zone, 'America/New_York');
    assert.deepEqual(
      alarms.map(({ next }) => next),
      [at('2026-11-30T07:00-05:00'), at('2026-11-30T07:00-05:00')],
    );
  });

  test('the night of the change of time: a missing time rings at its end, a double one once', async () => {
    await using spring = await start({ now: at('2027-03-28T00:00+01:00') });
    await spring.run('alarms.set', { time: '02:30' });
    await spring.clock.advance(2 * HOUR + 1_000);
    assert.deepEqual(spring.events(), ['set', 'rang']);
    await using autumn = await start({ now: at('2026-10-25T00:00+02:00') });
    await autumn.run('alarms.set', { time: '02:30', days: ['sun'] });
    await autumn.clock.advance(5 * HOUR);
    assert.equal(autumn.events().filter((event) => event === 'rang').length, 1);
  });

  test('after a restart it rings what was due a moment ago, tells what was due long ago, and keeps the rest', async () => {
    await using first = await start();
    await first.run('alarms.set', { time: '06:20', text: 'long ago' });
    await first.run('alarms.set', { time: '06:55', text: 'a moment ago' });
    await first.run('alarms.set', { time: '06:10', days: ['mon'], text: 'weekly' });
    await first.run('alarms.set', { time: '08:00' });
    await using second = await again(first, { now: MONDAY + HOUR });
    const { alarms, ringing, missed } = await second.state();
    assert.deepEqual(
      ringing.map(({ text }) => text),
      ['a moment ago'],
    );
    assert.deepEqual(missed.map(({ text, why }) => `${text} ${why}`).sort(), ['long ago off', 'weekly off']);
    assert.deepEqual(
      alarms.map(({ next }) => next),
      [MONDAY + 2 * HOUR, at('2026-12-07T06:10+01:00')],
    );
  });

  test('the panel tells missed alarms in its language and without the text', async () => {
    const OFF = 'The device was off, or its clock was changed.';
    const table: readonly (readonly [panel: string | undefined, said: readonly string[]])[] = [
      [undefined, []],
      ['en-GB', [`Missed reminder: Mon 06:20. ${OFF}`, `Missed alarm: Mon 06:30. ${OFF}`]],
      ['fr', ['Rappel manqué : lun. 06:20. L’appareil était éteint, ou son heure a été réglée.', 'Alarme manquée : lun. 06:30. L’appareil était éteint, ou son heure a été réglée.']],
    ]; // biome-ignore format: one table
    for (const [panel, said] of table) {
      await using first = await start();
      await first.run('alarms.set', { time: '06:20', text: 'a secret' });
      await first.run('alarms.set', { time: '06:30' });
      await using second = await again(first, { now: MONDAY + HOUR, ...(panel && { panel }) });
      await second.host.settle();
      const toasts = second.host.published.filter(({ topic }) => topic === 'ui.toast');
      assert.deepEqual(toasts.map(({ payload }) => (payload as { text: string }).text).sort(), [...said].sort());
    }
  });

  test('an alarm without an answer is on the panel, too, and the panel says three at most', async () => {
    await using started = await start({ panel: 'en-GB', config: { ringSeconds: 60 } });
    const toasts = () =>
      started.host.published.filter(({ topic }) => topic === 'ui.toast').map(({ payload }) => payload);
    await started.run('alarms.set', { time: '06:10' });
    await started.clock.advance(15 * MINUTE);
    assert.deepEqual(toasts(), [{ text: 'Missed alarm: Mon 06:10', level: 'warn' }]);
    for (let minute = 20; minute < 25; minute++) await started.run('alarms.set', { time: `06:${minute}` });
    await using later = await again(started, { now: MONDAY + 3 * HOUR, panel: 'en-GB' });
    await later.host.settle();
    assert.equal(later.host.published.filter(({ topic }) => topic === 'ui.toast').length, 3);
  });

  test('an alarm that rings when the power goes rings again, and a snooze goes on', async () => {
    await using first = await start();
    await first.run('alarms.set', { time: '07:00' });
    await first.clock.advance(HOUR + 5_000);
    await using second = await again(first, { now: MONDAY + HOUR + MINUTE });
    assert.equal((await second.state()).ringing.length, 1);
    await second.clock.advance(3_000);
    assert.ok(second.heard.length > 0);
    await second.run('alarms.snooze', { seconds: 600 });
    await using third = await again(second, { now: MONDAY + HOUR + 2 * MINUTE });
    assert.deepEqual((await third.state()).ringing, []);
    await third.clock.advance(10 * MINUTE);
    assert.equal((await third.state()).ringing.length, 1);
  });

  test('entries of a file that make no sense are left out and told', async () => {
    await using first = await start();
    await first.run('alarms.set', { time: '08:00' });
    const file = join(first.folder, 'alarms', 'alarms.json');
    const kept = JSON.parse(await readFile(file, 'utf8'));
    const bad = [null, 7, {}, { id: 'a' }, { id: 'b', time: '25:00', date: '2026-12-01' }, { id: 'c', time: '07:00' }];
    await writeFile(file, JSON.stringify({ ...kept, alarms: [...kept.alarms, ...bad] }));
    await using second = await again(first, { now: MONDAY });
    assert.equal((await second.state()).alarms.length, 1);
    assert.ok(second.host.logged.some(({ message }) => /some alarms of the file make no sense/.test(message)));
  });

  test('nothing wakes the device while no alarm is set, and a length alone wakes it once', async () => {
    await using started = await start();
    const pending = started.clock.pending;
    await started.service.set({ seconds: 3_600 });
    assert.equal(started.clock.pending, pending + 1);
    await started.clock.advance(HOUR - 1_000);
    assert.equal(started.clock.pending, pending + 1);
    await started.clock.advance(2_000);
    await started.service.silence();
    assert.equal(started.clock.pending, pending);
  });
});
