/** Alarms and reminders as people say them, in three languages: what is set, and what is answered. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type Alarm, type AlarmRequest, type AlarmsState, alarms } from '@device-core/plugin-api/services/alarms';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { type Started, start } from './start.ts';

after(leakCheck());

/** Monday, 30 November 2026, 10:00 in Berlin. */
const NOW = Date.UTC(2026, 10, 30, 9);
const WORK = ['mon', 'tue', 'wed', 'thu', 'fri'] as const;
const ALL = [...WORK, 'sat', 'sun'] as const;

/** The service as far as sentences need it: it remembers what was asked of it. */
class FakeAlarms {
  readonly asked: AlarmRequest[] = [];
  known: Alarm[] = [];
  rings = 0;
  snoozed: (number | undefined)[] = [];
  readonly cancelled: string[] = [];
  refuses: CoreError | undefined;

  async state(): Promise<AlarmsState> {
    return { alarms: this.known, ringing: [], missed: [], zone: 'Europe/Berlin' };
  }
  async set(request: AlarmRequest) {
    if (this.refuses) throw this.refuses;
    this.asked.push(request);
    const { kind = 'alarm', time, date, days, seconds, text } = request;
    const at = Date.parse(`${date ?? '2026-12-01'}T${time ?? '00:00'}+01:00`);
    const next = seconds === undefined ? at : NOW + seconds * 1_000;
    return {
      id: 'a',
      kind,
      on: true,
      next,
      kept: true,
      ...(time && { time }),
      ...(days && { days }),
      ...(text && { text }),
    };
  }
  async change(): Promise<never> {
    throw new Error('not part of this test');
  }
  async cancel(id: string) {
    this.cancelled.push(id);
    return true;
  }
  async snooze(seconds?: number) {
    this.snoozed.push(seconds);
    return { snoozed: this.rings, seconds: seconds ?? 540 };
  }
  async silence() {
    const count = this.rings;
    this.rings = 0;
    return count;
  }
  onChange() {
    return { [Symbol.dispose]: () => undefined };
  }
}

async function said(started: Started, text: string, language = 'en') {
  const match = await started.match(text, language);
  assert.equal(match.outcome, 'plan', `${text}: ${JSON.stringify(match)}`);
  const { plan } = match as Extract<typeof match, { outcome: 'plan' }>;
  const { signal } = new AbortController();
  return started.intents.run(plan, { turn: 't', signal, deadline: Number.MAX_SAFE_INTEGER });
}

const startWith = (service: FakeAlarms) =>
  start({ clock: virtualClock({ now: NOW }), isolation: 'inline', services: [[alarms as never, service]] });

const alarm = (time: string, more: object = {}) => ({ kind: 'alarm', time, ...more });
const reminder = (time: string, text?: string, more: object = {}) => ({
  kind: 'reminder',
  time,
  ...(text !== undefined && { text }),
  ...more,
});
const TOMORROW = { date: '2026-12-01' };

const SENTENCES: Readonly<Record<string, readonly (readonly [text: string, asked: object, say?: string])[]>> = {
  en: [
    ['wake me at seven', alarm('07:00'), "Alarm for seven o'clock in the morning, tomorrow."],
    ['wake me up at seven', alarm('07:00')],
    ['could you please wake me at 6:45 tomorrow', alarm('06:45', TOMORROW)],
    ['wake me at 07:00', alarm('07:00')],
    ['wake me at 7:05 am', alarm('07:05')],
    ['wake me tomorrow morning at half past six', alarm('06:30', TOMORROW)],
    ['wake me up in twenty minutes', { kind: 'alarm', seconds: 1_200 }],
    [
      'set an alarm for 6:30 on weekdays',
      alarm('06:30', { days: WORK }),
      'Alarm for six thirty in the morning, on weekdays.',
    ],
    ['set an alarm for 8 every day', alarm('08:00', { days: ALL })],
    ['set an alarm for nine every saturday', alarm('09:00', { days: ['sat'] })],
    ['alarm at half past seven tomorrow', alarm('07:30', TOMORROW)],
    ['set an alarm for quarter to eight', alarm('19:45')],
    ['set an alarm for 11', alarm('11:00')],
    ['set an alarm for 3 pm', alarm('15:00')],
    ['set an alarm for 3 in the afternoon on friday', alarm('15:00', { date: '2026-12-04' })],
    ['set a 7 am alarm', alarm('07:00')],
    ['set an alarm for 18:30', alarm('18:30')],
    ['set an alarm for 20:05', alarm('20:05')],
    ['set an alarm for twenty three', alarm('23:00')],
    ['set an alarm for noon', alarm('12:00')],
    ['set an alarm for midnight', alarm('00:00')],
    ['set an alarm for 12 am', alarm('00:00')],
    ['set an alarm for twelve tomorrow', alarm('12:00', TOMORROW)],
    ['set an alarm tonight at ten', alarm('22:00', { date: '2026-11-30' })],
    ['set an alarm for ten past six in the evening', alarm('18:10')],
    ['remind me at five to water the plants', reminder('17:00', 'water the plants')],
    ['remind me to water the plants at five', reminder('17:00', 'water the plants')],
    ['remind me to call at the office at 5 pm', reminder('17:00', 'call at the office')],
    ['remind me at five to seven', reminder('18:55')],
    ['remind me at five to seven to feed the cat', reminder('18:55', 'feed the cat')],
    ['remind me tomorrow at nine about the dentist', reminder('09:00', 'the dentist', TOMORROW)],
    ['remind me tomorrow at four to call home', reminder('16:00', 'call home', TOMORROW)],
    ['remind me in ten minutes to turn off the oven', { kind: 'reminder', seconds: 600, text: 'turn off the oven' }],
    [
      'remind me to turn off the oven in an hour and a half',
      { kind: 'reminder', seconds: 5_400, text: 'turn off the oven' },
    ],
    ['remind me in ten minutes', { kind: 'reminder', seconds: 600 }, 'Reminder in ten minutes.'],
  ],
  de: [
    ['weck mich um sieben', alarm('07:00'), 'Wecker morgen um sieben Uhr.'],
    ['weck mich um 7:05 uhr', alarm('07:05')],
    ['weck mich um 07:00', alarm('07:00')],
    ['weck mich morgen um halb acht', alarm('07:30', TOMORROW)],
    ['weck mich morgen früh um sechs', alarm('06:00', TOMORROW)],
    ['weck mich in 20 Minuten', { kind: 'alarm', seconds: 1_200 }],
    ['stell einen Wecker auf 6:30 Uhr', alarm('18:30')],
    [
      'stell den Wecker werktags auf sechs Uhr dreißig',
      alarm('06:30', { days: WORK }),
      'Wecker werktags um sechs Uhr dreißig.',
    ],
    ['stell einen wecker auf viertel vor sieben abends', alarm('18:45')],
    ['wecker um 19 uhr', alarm('19:00')],
    ['erinnere mich um fünf an den Termin', reminder('17:00', 'den termin')],
    ['erinnere mich um fünf daran die Pflanzen zu gießen', reminder('17:00', 'die pflanzen zu gießen')],
    [
      'erinnere mich in zehn Minuten an den Ofen',
      { kind: 'reminder', seconds: 600, text: 'den ofen' },
      'Erinnerung in zehn Minuten.',
    ],
    ['erinnere mich in einer Stunde', { kind: 'reminder', seconds: 3_600 }],
    ['erinnere mich am Freitag um 9 an den Müll', reminder('09:00', 'den müll', { date: '2026-12-04' })],
  ],
  fr: [
    ['réveille moi à sept heures', alarm('07:00'), 'Alarme demain à sept heures.'],
    ['réveille-moi demain à 7h30', alarm('07:30', TOMORROW)],
    ['réveille-moi à 7h00', alarm('07:00')],
    ['réveille-moi à 7:05', alarm('07:05')],
    ['réveille-moi dans vingt minutes', { kind: 'alarm', seconds: 1_200 }],
    [
      'mets une alarme à six heures et demie en semaine',
      alarm('06:30', { days: WORK }),
      'Alarme en semaine à six heures trente.',
    ],
    ['mets un réveil à huit heures moins le quart du matin', alarm('07:45')],
    ['mets une alarme pour midi', alarm('12:00')],
    ['mets une alarme ce soir à dix heures', alarm('22:00', { date: '2026-11-30' })],
    ["rappelle-moi à cinq heures d'arroser les plantes", reminder('17:00', 'arroser les plantes')],
    ['rappelle-moi à 17 heures de sortir', reminder('17:00', 'sortir')],
    ['rappelle-moi de sortir dans une demi-heure', { kind: 'reminder', seconds: 1_800, text: 'sortir' }],
  ],
};

/** Lengths are timers as before, and nothing is guessed. */
const OTHERS: readonly (readonly [text: string, language: string, intent: string | undefined])[] = [
  ['set an alarm for ten minutes', 'en', 'device.timer-set'],
  ['alarm for half an hour', 'en', 'device.timer-set'],
  ['stell den wecker auf zehn minuten', 'de', 'device.timer-set.de'],
  ['mets une alarme de dix minutes', 'fr', 'device.timer-set.fr'],
  ['cancel the timers', 'en', 'device.timer-cancel'],
  ['cancel my alarm', 'en', 'device.alarm-cancel'],
  ['cancel all of my reminders', 'en', 'device.alarm-drop'],
  ['lösche den wecker um sieben', 'de', 'device.alarm-drop.de'],
  ['supprime mon rappel', 'fr', 'device.alarm-drop.fr'],
  ['lösche den wecker', 'de', 'device.alarm-cancel.de'],
  ["annule l'alarme", 'fr', 'device.alarm-cancel.fr'],
  ['which alarms do i have', 'en', 'device.alarm-list'],
  ['when is my next alarm', 'en', 'device.alarm-list'],
  ['welche wecker habe ich', 'de', 'device.alarm-list.de'],
  ['quand sonne mon réveil', 'fr', 'device.alarm-list.fr'],
  ['snooze', 'en', 'device.snooze'],
  ['schlummern', 'de', 'device.snooze.de'],
  ["reporte l'alarme", 'fr', 'device.snooze.fr'],
  ['wake me', 'en', undefined],
  ["don't wake me at seven", 'en', undefined],
  ['wake me at twenty five', 'en', undefined],
  ['wake me at seven yesterday', 'en', undefined],
  ['set an alarm for 7:75', 'en', undefined],
  ['remind me', 'en', undefined],
  ['weck mich nicht um sieben', 'de', undefined],
];

suite('alarms by what people say', () => {
  for (const [language, sentences] of Object.entries(SENTENCES))
    test(`alarms and reminders are set in ${language}`, async () => {
      const service = new FakeAlarms();
      await using started = await startWith(service);
      for (const [text, asked, say] of sentences) {
        const answer = await said(started, text, language);
        assert.deepEqual(service.asked.at(-1), asked, text);
        if (say !== undefined) assert.equal(answer.say, say, text);
      }
      assert.equal(service.asked.length, sentences.length);
    });

  test('lengths stay timers, and no sentence is guessed at', async () => {
    await using started = await startWith(new FakeAlarms());
    for (const [text, language, intent] of OTHERS) {
      const match = await started.match(text, language);
      assert.equal(
        match.outcome === 'plan' ? match.plan.intent : undefined,
        intent,
        `${text}: ${JSON.stringify(match)}`,
      );
    }
  });

  test('the alarms are told, with their days and texts', async () => {
    const service = new FakeAlarms();
    await using started = await startWith(service);
    assert.equal((await said(started, 'which alarms do I have')).say, 'No alarm is set.');
    service.known = [
      {
        id: '1',
        kind: 'reminder',
        time: '17:00',
        text: 'water the plants',
        on: true,
        next: Date.parse('2026-11-30T17:00+01:00'),
      },
      {
        id: '2',
        kind: 'alarm',
        time: '09:05',
        days: ['sat', 'sun'],
        on: true,
        next: Date.parse('2026-12-05T09:05+01:00'),
      },
      { id: '3', kind: 'alarm', time: '09:05', on: false },
    ];
    assert.equal(
      (await said(started, 'what are my alarms')).say,
      "Reminder for five o'clock in the afternoon, today: water the plants and alarm for nine oh five in the morning, at weekends.",
    );
    assert.match(
      (await said(started, 'wann klingelt mein wecker', 'de')).say ?? '',
      /heute um siebzehn Uhr: water the plants und Wecker am Wochenende um neun Uhr fünf/,
    );
  });

  test('one alarm is cancelled; of several the person says which, by its time or all', async () => {
    const service = new FakeAlarms();
    await using started = await startWith(service);
    assert.equal((await said(started, 'cancel my alarm')).say, 'There is no such alarm.');
    const seven: Alarm = {
      id: '7',
      kind: 'alarm',
      time: '07:00',
      on: true,
      next: Date.parse('2026-12-01T07:00+01:00'),
    };
    service.known = [seven];
    assert.equal((await said(started, 'cancel my alarm')).say, 'The alarm is cancelled.');
    service.known = [seven, { ...seven, id: '8', time: '08:00', next: Date.parse('2026-12-01T08:00+01:00') }];
    const asked = await said(started, 'delete the alarm');
    assert.deepEqual([asked.followUp, asked.say?.startsWith('Which one: ')], [true, true]);
    await said(started, "cancel my eight o'clock alarm");
    await said(started, 'cancel all alarms');
    assert.deepEqual(service.cancelled, ['7', '8', '7', '8']);
    assert.equal((await said(started, 'cancel the alarm at nine')).say, 'There is no such alarm.');
    assert.equal((await said(started, 'cancel my reminder')).say, 'There is no such alarm.');
  });

  test('stop ends what rings, and "stop the alarm" does, too; snooze puts it off', async () => {
    const service = new FakeAlarms();
    await using started = await startWith(service);
    for (const text of ['stop', 'stop the alarm', 'turn off the alarm']) {
      service.rings = 1;
      assert.deepEqual(await said(started, text), { result: { silenced: true } }, text);
      assert.equal(service.rings, 0);
    }
    assert.equal((await said(started, 'snooze')).say, 'No alarm rings.');
    service.rings = 1;
    assert.equal((await said(started, 'snooze for ten minutes')).say, 'Again in ten minutes.');
    assert.equal((await said(started, '5 more minutes')).say, 'Again in five minutes.');
    assert.deepEqual(service.snoozed, [undefined, 600, 300]);
  });

  test('a timer that was called an alarm is cancelled as one', async () => {
    await using started = await startWith(new FakeAlarms());
    await said(started, 'set an alarm for ten minutes');
    assert.equal((await said(started, 'cancel my alarm')).say, 'The timer is cancelled.');
  });

  test('a refusal of the service is said, not thrown', async () => {
    const service = new FakeAlarms();
    await using started = await startWith(service);
    service.refuses = new CoreError('PARAMS_INVALID', { where: 'date', reason: 'it has passed' });
    assert.equal((await said(started, 'set an alarm for 9 am today')).say, 'That time has passed.');
    service.refuses = new CoreError('QUEUE_FULL', {
      what: 'an alarm',
      reason: 'there are 50 already',
      retryAfterMs: 1,
    });
    assert.equal((await said(started, 'wake me at seven')).say, 'There are zero alarms already.');
  });

  test('without the plugin alarms there are no such sentences, and an alarm with a length is a timer', async () => {
    await using started = await start();
    assert.equal((await started.match('wake me at seven')).outcome, 'none');
    assert.equal((await started.match('set an alarm for ten minutes')).outcome, 'plan');
    assert.equal((await said(started, 'cancel my alarm')).say, 'There is no such alarm.');
  });
});
