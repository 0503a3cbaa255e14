import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Trial, trialLines } from '../../../plugins/life/maker/image/build/trial.ts';

const WARDEN = 'cannot reach the warden: connect ENOENT /run/panel-warden.sock';
const NOTE = '    note: the warden, which starts the apps, runs on the device and not here';

describe('lines of a trial of an image', () => {
  const CASES: readonly (readonly [string, Pick<Trial, 'state' | 'missing'>, readonly string[]])[] = [
    ['all is well', { state: 'ok', missing: {} }, ['  started (normal): ok after 1.2 s']],
    [
      'apps alone are missing, as on every desk',
      { state: 'degraded', missing: { apps: WARDEN } },
      ['  started (normal): all but the apps after 1.2 s', NOTE],
    ],
    [
      'hardware is missing, too',
      { state: 'degraded', missing: { apps: WARDEN, power: 'no such line' } },
      ['  started (normal): degraded after 1.2 s', NOTE, '    power: no such line'],
    ],
    [
      'hardware is missing in a product without a warden',
      { state: 'degraded', missing: { power: 'no such line' } },
      ['  started (normal): degraded after 1.2 s', '    power: no such line'],
    ],
  ];
  for (const [title, said, lines] of CASES)
    test(title, () => {
      assert.deepEqual(trialLines({ mode: 'normal', ms: 1234, ...said }), lines);
    });
});
