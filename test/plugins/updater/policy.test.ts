/** The rules of updates: each says no where it should, and to whom. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, readManifest } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import type { UpdaterConfig } from '../../../plugins/life/updater/configuration.ts';
import { ACTS, type Act, type Facts, firstNo, placeOf, RULES } from '../../../plugins/life/updater/policy.ts';
import type { Wanted } from '../../../plugins/life/updater/record.ts';
import { openWindow } from '../../../plugins/life/updater/window.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

const DAY = 86_400_000;
/** A Thursday, noon. */
const NOW = Date.UTC(2026, 0, 1, 12);
const IMAGE = `sha256:${'2'.repeat(64)}`;
const { properties } = readManifest('manifests/plugins/life/updater.yaml').config as {
  readonly properties: Readonly<Record<string, { readonly default?: unknown }>>;
};
const DEFAULTS = {
  ...Object.fromEntries(
    Object.entries(properties).flatMap(([name, { default: value }]) => (value === undefined ? [] : [[name, value]])),
  ),
  url: 'https://example.com/',
} as object as UpdaterConfig;
const { url: _, ...NO_REPOSITORY } = DEFAULTS;
const WANTED: Wanted = {
  version: '1.1.0',
  image: IMAGE,
  severity: 'normal',
  kind: 'repository',
  source: 'https://example.com/',
  channel: 'stable',
  since: NOW - 10 * DAY,
  asks: { claims: [], forms: [] },
};
const GOOD: Facts = {
  config: DEFAULTS,
  record: { state: 'available', since: 0, bad: [] },
  wanted: WANTED,
  now: NOW,
  slots: 'there',
  running: '1.0.0',
  floor: '1.0.0',
  device: 'device-1',
  turn: false,
  leases: [],
  network: { state: 'online', type: 'wifi', metered: false },
  power: { source: 'mains', state: 'ok' },
  time: { set: true, zone: 'UTC' },
  fetch: { bytes: 10, room: 100 },
};
const config = (more: Partial<UpdaterConfig>) => ({ config: { ...DEFAULTS, ...more } });
const wanted = (more: Partial<Wanted>) => ({ wanted: { ...WANTED, ...more } });
const night = config({ windows: [{ from: '22:00', to: '05:00' }] });
const claims = [{ plugin: 'voice', capability: 'audio.capture', summary: 'listen' }];
const oneWay = { claims: [], forms: [{ store: 'x', from: 1, to: 2, way: 'one-way' as const }], digest: '0123456789ab' };
const lease = { id: '1', holder: 'app.a', reason: 'a recording', until: NOW + DAY };

/** Rule, act, what is different, and whether an operator is refused as well; `false`: nothing says no. */
const TABLE: readonly (readonly [string, Act, Partial<Facts>, 'everyone' | 'device'])[] = [
  ['slots', 'download', { slots: 'none' }, 'everyone'],
  ['slots', 'check', { slots: 'none' }, 'everyone'],
  ['repository', 'check', { config: NO_REPOSITORY }, 'everyone'],
  ['clock', 'check', { time: { set: false, zone: 'UTC' } }, 'device'],
  ['held', 'download', { record: { ...GOOD.record, hold: { reason: 'a fair' } } }, 'device'],
  ['held', 'activate', { record: { ...GOOD.record, hold: { until: NOW + 1, reason: 'a fair' } } }, 'device'],
  ['withdrawn', 'activate', wanted({ withdrawn: 'it eats batteries' }), 'everyone'],
  ['blocked', 'download', config({ blocked: ['1.1.0'] }), 'everyone'],
  ['floor', 'download', { floor: '1.2.0', running: '1.0.0' }, 'everyone'],
  ['floor', 'download', { ...wanted({ version: '0.9.0', downgrade: true }) }, 'everyone'],
  ['downgrade', 'download', { running: '1.2.0' }, 'everyone'],
  [
    'rolled-back',
    'download',
    { record: { ...GOOD.record, bad: [{ image: IMAGE, version: '1.1.0', reason: 'no' }] } },
    'device',
  ],
  ['channel', 'download', wanted({ channel: 'beta' }), 'device'],
  ['rollout', 'download', wanted({ rollout: 0 }), 'device'],
  ['hold-days', 'download', config({ holdDays: 11 }), 'device'],
  [
    'hold-days',
    'download',
    { ...config({ holdDays: 30, securityHoldDays: 11 }), ...wanted({ severity: 'security' }) },
    'device',
  ],
  ['offline', 'download', { network: { state: 'local', type: 'wifi', metered: false } }, 'device'],
  ['offline', 'check', { network: { state: 'offline', type: 'none', metered: false } }, 'device'],
  ['metered', 'download', { network: { state: 'online', type: 'mobile', metered: true } }, 'everyone'],
  ['space', 'download', { fetch: { bytes: 101, room: 100 } }, 'everyone'],
  ['space', 'download', { fetch: { bytes: 1, room: -5 } }, 'everyone'],
  ['consent', 'activate', wanted({ asks: { claims, forms: [], digest: '0123456789ab' } }), 'everyone'],
  [
    'consent',
    'activate',
    wanted({ asks: { claims, forms: [], digest: '0123456789ab' }, accepted: 'ffffffffffff' }),
    'everyone',
  ],
  ['state-forms', 'activate', wanted({ asks: oneWay }), 'everyone'],
  ['window', 'activate', night, 'device'],
  ['window', 'activate', { ...night, now: NOW + 12 * 3_600_000, time: { set: false, zone: 'UTC' } }, 'device'],
  ['power', 'activate', { power: { source: 'mains', state: 'low' } }, 'everyone'],
  ['power', 'activate', { power: { source: 'battery', level: 0.29, state: 'ok' } }, 'everyone'],
  ['voice', 'activate', { turn: true }, 'everyone'],
  ['lease', 'activate', { leases: [lease] }, 'everyone'],
];

const PASS: readonly (readonly [string, Partial<Facts>])[] = [
  ['all is well', {}],
  ['nothing is known of network, power and clock', { network: undefined, power: undefined, time: undefined }],
  ['a hold is over', { record: { ...GOOD.record, hold: { until: NOW, reason: 'a fair' } } }],
  ['it was agreed', wanted({ asks: oneWay, accepted: '0123456789ab' })],
  [
    'a metered network is allowed',
    { ...config({ metered: true }), network: { state: 'online', type: 'mobile', metered: true } },
  ],
  [
    'a file needs no network',
    { ...wanted({ kind: 'archive' }), network: { state: 'offline', type: 'none', metered: true } },
  ],
  ['a file does not rest', { ...wanted({ kind: 'archive', since: NOW }), ...config({ holdDays: 9 }) }],
  ['security does not rest', { ...wanted({ severity: 'security', since: NOW }), ...config({ holdDays: 9 }) }],
  ['it is night', { ...night, now: NOW + 12 * 3_600_000 }],
  ['the battery is full enough', { power: { source: 'battery', level: 0.3, state: 'ok' } }],
  ['an older one is meant', { running: '1.2.0', ...wanted({ downgrade: true }) }],
  ['the rollout is over', wanted({ rollout: 100 })],
];

describe('the rules of updates', () => {
  for (const [name, act, more, binds] of TABLE)
    it(`${name} says no to ${act} ${binds === 'everyone' ? 'of every caller' : 'of the device, and lets an operator'}: ${JSON.stringify(more).slice(0, 90)}`, () => {
      const facts = { ...GOOD, ...more };
      const no = firstNo(act, facts, { by: 'device' });
      assert.equal(no?.rule.name, name);
      assert.ok(no.reason.length > 5);
      const hand = firstNo(act, facts, { by: 'operator' });
      assert.equal(hand?.rule.name, binds === 'everyone' ? name : undefined);
      const anyway = firstNo(act, facts, { by: 'operator', anyway: true });
      assert.equal(anyway?.rule.name, binds === 'everyone' && !no.rule.passes ? name : undefined);
    });

  for (const [what, more] of PASS)
    it(`say nothing where ${what}`, () => {
      for (const act of ['download', 'activate'] as const)
        assert.equal(firstNo(act, { ...GOOD, ...more }, { by: 'device' })?.rule.name, undefined);
    });

  it('are all in the table', () => {
    const seen = new Set(TABLE.map(([name]) => name));
    assert.deepEqual(
      RULES.map(({ name }) => name).filter((name) => !seen.has(name)),
      [],
    );
    for (const { sentence, todo, acts } of RULES) {
      assert.match(sentence, /\.$/);
      assert.match(todo, /\.$/);
      assert.ok(acts.every((act) => ACTS.includes(act)));
    }
  });

  it('put devices in another queue for each image, evenly, and each in one place', () => {
    fc.assert(
      fc.property(fc.uuid(), (device) => {
        assert.equal(placeOf(device, IMAGE), placeOf(device, IMAGE));
        const place = placeOf(device, IMAGE);
        assert.ok(place >= 0 && place < 100);
        const says = (rollout: number) =>
          firstNo('download', { ...GOOD, device, ...wanted({ rollout }) }, { by: 'device' });
        // Who is in at a part is in at a larger one.
        assert.equal(says(place)?.rule.name, 'rollout');
        assert.equal(says(Math.min(100, place + 0.001)), undefined);
        assert.equal(says(100), undefined);
      }),
      { numRuns: runs(200) },
    );
    const devices = Array.from({ length: 2_000 }, (_, number) => `device-${number}`);
    const share = devices.filter((device) => placeOf(device, IMAGE) < 10).length / devices.length;
    assert.ok(share > 0.07 && share < 0.13, String(share));
    const other = `sha256:${'3'.repeat(64)}`;
    assert.ok(devices.some((device) => placeOf(device, IMAGE) < 10 && placeOf(device, other) >= 10));
  });

  const WINDOWS: readonly (readonly [string, Parameters<typeof openWindow>[0], number, string, boolean])[] = [
    ['within', [{ from: '02:00', to: '05:00' }], Date.UTC(2026, 0, 1, 2), 'UTC', true],
    ['at its end', [{ from: '02:00', to: '05:00' }], Date.UTC(2026, 0, 1, 5), 'UTC', false],
    ['over midnight, before', [{ from: '22:00', to: '05:00' }], Date.UTC(2026, 0, 1, 23), 'UTC', true],
    ['over midnight, after', [{ from: '22:00', to: '05:00' }], Date.UTC(2026, 0, 1, 4, 59), 'UTC', true],
    [
      'of the night that began on Wednesday',
      [{ days: ['wed'], from: '22:00', to: '05:00' }],
      Date.UTC(2026, 0, 1, 4),
      'UTC',
      true,
    ],
    [
      'of the night that begins on Thursday',
      [{ days: ['thu'], from: '22:00', to: '05:00' }],
      Date.UTC(2026, 0, 1, 4),
      'UTC',
      false,
    ],
    ['where the device is', [{ from: '02:00', to: '05:00' }], Date.UTC(2026, 0, 1, 1, 30), 'Europe/Berlin', true],
    ['in summer', [{ from: '02:00', to: '05:00' }], Date.UTC(2026, 6, 1, 0, 30), 'Europe/Berlin', true],
    ['all day', [{ from: '00:00', to: '00:00' }], Date.UTC(2026, 0, 1, 13), 'UTC', true],
    [
      'the second of two',
      [
        { from: '01:00', to: '02:00' },
        { from: '13:00', to: '14:00' },
      ],
      Date.UTC(2026, 0, 1, 13),
      'UTC',
      true,
    ],
  ];
  for (const [what, windows, now, zone, open] of WINDOWS)
    it(`open a window ${what}`, () => assert.equal(openWindow(windows, now, zone), open));

  it('take an unknown zone for that of the process', () => {
    assert.equal(typeof openWindow([{ from: '02:00', to: '05:00' }], NOW, 'Nowhere/At-All'), 'boolean');
  });
});
