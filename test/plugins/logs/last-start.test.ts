import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Fixture, line, startLogs } from './fixture.ts';

after(leakCheck());

const starts = (safeMode = false) => line(1, 'the Core starts', { run: 'starts', sku: 'simulator.yaml', safeMode });
const state = (plugin: string, state: string) => line(2, `plugin ${state}`, { plugin, state });
const ready = line(3, 'the Core is ok', { run: 'ready', state: 'ok' });
const ends = (code: number, more: object = {}) => line(9, 'the process ends', { run: 'ends', code, ...more });
const NOW = starts(true);

async function lastStart(logs: Fixture) {
  // biome-ignore lint/suspicious/noExplicitAny: whatever the plugin said
  return (await logs.table.run('logs.lastStart', {})).lastStart as any;
}

describe('GET /logs/last-start', () => {
  const CASES: readonly (readonly [
    name: string,
    run: readonly object[],
    outcome: string,
    suspects: readonly string[],
  ])[] = [
    [
      'a plugin hung in its setup',
      [
        state('a', 'starting'),
        state('b', 'starting'),
        state('c', 'starting'),
        state('b', 'starting'),
        state('a', 'active'),
      ],
      'unfinished',
      ['b', 'c'],
    ],
    [
      'a plugin called process.exit()',
      [
        state('a', 'starting'),
        state('bad', 'starting'),
        ends(1, {
          level: 60,
          err: {
            stack: 'Error: x\n at f (file:///core/plugins/bad/index.ts:3:4)\n at g (file:///core/kernel/x.ts:1:1)',
          },
        }),
      ],
      'crashed',
      ['bad', 'a'],
    ],
    [
      'an installed plugin, in a folder without its name, called process.exit() while others were in their setup',
      [
        state('crasher', 'starting'),
        state('a', 'starting'),
        ends(1, {
          level: 60,
          plugin: 'crasher',
          err: { stack: 'Error: x\n at f (file:///v/plugins/2f0a/pkg/i.js:3:4)' },
        }),
      ],
      'crashed',
      ['crasher', 'a'],
    ],
    ['the SKU cannot run', [line(2, 'x.yaml:1: SKU_INVALID', { level: 50, run: 'problem' }), ends(1)], 'refused', []],
    ['it ran and was killed', [state('a', 'active'), state('b', 'failed'), ready], 'killed', ['b']],
    ['it was stopped', [state('a', 'active'), ready, line(4, '', { run: 'stops' }), ends(0)], 'stopped', []],
    [
      'a plugin crashed and was restarted before it was stopped',
      [state('a', 'active'), ready, line(4, 'unhandled', { level: 60 }), line(5, '', { run: 'stops' }), ends(0)],
      'stopped',
      [],
    ],
    ["an error that was nobody's ended it", [ready, line(4, 'unhandled', { level: 60 }), ends(70)], 'crashed', []],
  ];
  for (const [name, run, outcome, suspects] of CASES)
    it(`tells when ${name}`, async () => {
      await using logs = await startLogs();
      logs.write('core.log', starts(), ready, starts(), ...run, NOW, state('logs', 'active'));
      const last = await lastStart(logs);
      assert.deepEqual([last.outcome, last.suspects, last.sku], [outcome, suspects, 'simulator.yaml']);
      assert.equal(last.problems.length, run.filter((one) => ((one as { level: number }).level ?? 30) > 30).length);
    });

  it('looks behind other starts of safe mode, and knows when the log does not reach', async () => {
    await using logs = await startLogs();
    assert.equal(await lastStart(logs), null);
    logs.write('core.log', NOW, state('logs', 'active'));
    assert.equal(await lastStart(logs), null);
    logs.write('core.log', starts(), state('a', 'starting'), NOW, ends(0), NOW);
    assert.deepEqual((await lastStart(logs)).suspects, ['a']);
  });

  it('warns in /health where the SKU asks for it', async () => {
    for (const warnOfLastStart of [true, false]) {
      await using logs = await startLogs({ warnOfLastStart });
      logs.write('core.log', starts(), state('a', 'starting'), NOW);
      const warnings: string[] = [];
      const report: HealthReport = {
        add: () => undefined,
        bridge: () => undefined,
        warn: (code, text) => warnings.push(`${code} ${text}`),
      };
      await logs.host.hook('health.collect').promise(report);
      assert.equal(warnings.length, warnOfLastStart ? 1 : 0);
      if (warnOfLastStart) assert.match(warnings[0]!, /^LAST_START .*ended unfinished; look at a: /);
    }
  });
});
