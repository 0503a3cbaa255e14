/** Dates and times on the wall as moments, over the zones of the world. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { WEEKDAYS } from '@device-core/plugin-api/services/alarms';
import fc from 'fast-check';
import {
  dateOf,
  dayAfter,
  isDate,
  latestDate,
  momentOf,
  nextDate,
  wallOf,
  weekdayOf,
} from '../../../plugins/voice/alarms/wall.ts';
import { runs } from '../../fixtures/runs.ts';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'Pacific/Apia',
  'Africa/Casablanca',
  'America/Santiago',
  'Asia/Beirut',
];
const zones = fc.constantFrom(...ZONES);
/** 2010 to 2035, whole seconds. */
const moments = fc.integer({ min: 1_262_304_000, max: 2_051_222_400 }).map((seconds) => seconds * 1_000);
const times = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
const days = fc.subarray([...WEEKDAYS], { minLength: 1 });

suite('time on the wall', () => {
  const cases: readonly (readonly [what: string, date: string, time: string, zone: string, utc: string])[] = [
    ['an ordinary day', '2026-11-30', '07:00', 'Europe/Berlin', '2026-11-30T06:00Z'],
    ['in summer', '2026-07-01', '07:00', 'Europe/Berlin', '2026-07-01T05:00Z'],
    [
      'a time that is left out rings at the end of the gap',
      '2026-03-29',
      '02:30',
      'Europe/Berlin',
      '2026-03-29T01:00Z',
    ],
    ['a time that comes twice is the first', '2026-10-25', '02:30', 'Europe/Berlin', '2026-10-25T00:30Z'],
    ['a gap of half an hour', '2026-10-04', '02:15', 'Australia/Lord_Howe', '2026-10-03T15:30Z'],
    ['a gap at midnight', '2024-09-08', '00:30', 'America/Santiago', '2024-09-08T04:00Z'],
    ['a day that never was', '2011-12-30', '07:00', 'Pacific/Apia', '2011-12-30T10:00Z'],
  ];
  for (const [what, date, time, zone, utc] of cases)
    test(what, () => assert.equal(new Date(momentOf(date, time, zone)).toISOString(), utc.replace('Z', ':00.000Z')));

  test('a moment is at its time on the wall, or no moment is and it is the first one later', () => {
    fc.assert(
      fc.property(zones, moments, times, (zone, at, time) => {
        const date = dateOf(wallOf(at, zone));
        const found = momentOf(date, time, zone);
        const wanted = Date.parse(`${date}T${time}:00Z`);
        const wall = wallOf(found, zone);
        if (wall === wanted) {
          // The first of two: an hour before it the wall said something else.
          for (const before of [1_800_000, 3_600_000]) assert.notEqual(wallOf(found - before, zone), wanted);
        } else {
          assert.ok(wall > wanted);
          assert.ok(wallOf(found - 1_000, zone) < wanted);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('the next date comes, has a day that was asked for, and none between is left out', () => {
    fc.assert(
      fc.property(zones, moments, times, days, (zone, now, time, wanted) => {
        const date = nextDate({ time, days: wanted }, now, zone);
        assert.ok(wanted.includes(weekdayOf(date)));
        assert.ok(momentOf(date, time, zone) > now);
        for (let back = 1; back < 8; back++) {
          const earlier = dayAfter(date, -back);
          if (wanted.includes(weekdayOf(earlier))) assert.ok(momentOf(earlier, time, zone) <= now);
        }
        // Rung at its moment, the next one is a later date: no date rings twice, and the rhythm goes on.
        const at = momentOf(date, time, zone);
        assert.equal(latestDate({ time, days: wanted }, date, at, zone), date);
        const following = nextDate({ time, days: wanted }, at, zone, date);
        assert.ok(following > date && following <= dayAfter(date, 7));
      }),
      { numRuns: runs(300) },
    );
  });

  test('a date of the calendar is told from one that is none', () => {
    for (const date of ['2026-11-30', '2024-02-29']) assert.ok(isDate(date), date);
    for (const date of ['2026-02-30', '2026-13-01', '26-01-01', '2026-1-1', '']) assert.ok(!isDate(date), date);
  });
});
