import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { CONTROLS } from '../../../plugins/hardware/simulator/controls.ts';
import { playScenario as play } from '../../../plugins/hardware/simulator/player.ts';
import { Recorder } from '../../../plugins/hardware/simulator/recorder.ts';
import { printScenario, ScenarioReader } from '../../../plugins/hardware/simulator/scenario.ts';
import { MOST_STEPS, SCENARIO_SCHEMA } from '../../../plugins/hardware/simulator/scenario-schema.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { type BusCore, eventually, startBuses } from '../../fixtures/bus-core.ts';
import { playScenario } from '../../fixtures/play-scenario.ts';
import { runs } from '../../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });
after(leakCheck());

const SHIPPED = join(import.meta.dirname, '../../../plugins/hardware/simulator/scenarios');
const reader = new ScenarioReader(CONTROLS);
const head = 'scenario: 1\nname: test\nsteps:\n';
const code = (name: string) => ({ code: `plugin.simulator.${name}` });

/** A control with params that its schema takes. */
const used = fc.oneof(
  fc.record({
    name: fc.constant('sim.drive'),
    params: fc.record({ endpoint: fc.constant('gpio0'), line: fc.nat(31), level: fc.constantFrom(0, 1, null) }),
  }),
  fc.record({
    name: fc.constant('sim.say'),
    params: fc.record({ endpoint: fc.constant('uart0'), text: fc.string({ unit: ANY_CHARACTER, maxLength: 40 }) }),
  }),
  fc.record({
    name: fc.constant('sim.chip'),
    params: fc.record({
      endpoint: fc.constant('i2c0'),
      address: fc.nat(1023),
      change: fc
        .dictionary(fc.string({ maxLength: 12 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 })
        // No request has it: REST and JSON-RPC refuse a member of this name.
        .filter((change) => !JSON.stringify(change).includes('__proto__')),
    }),
  }),
  fc.record({ name: fc.constant('sim.heal'), params: fc.constant({}) }),
);

describe('scenarios of the simulator', () => {
  it('replay what was recorded: the same controls at the same times', async () => {
    const journal = fc.array(fc.record({ gap: fc.double({ min: 0, max: 10_000, noNaN: true }), used }), {
      minLength: 1,
      maxLength: 30,
    });
    await fc.assert(
      fc.asyncProperty(journal, async (entries) => {
        let now = 1_000;
        const recorder = new Recorder('test', 'A "title": with signs', now);
        const done = entries.map(({ gap, used: { name, params } }) => {
          now += gap;
          recorder.did(name, params, now);
          return { at: now - 1_000, name, params: JSON.parse(JSON.stringify(params)) };
        });
        const scenario = reader.read(printScenario(recorder.scenario));
        const clock = new VirtualClock();
        const replayed: { at: number; name: string; params: object }[] = [];
        const run = async (name: string, params: object) => void replayed.push({ at: clock.monotonic(), name, params });
        const bus = { subscribe: () => assert.fail('nothing is expected') };
        await clock.until(
          play(scenario, { clock, bus, run, step: () => undefined }, new AbortController().signal),
          1e6,
        );
        assert.deepEqual(
          replayed.map(({ name, params }) => ({ name, params })),
          done.map(({ name, params }) => ({ name, params })),
        );
        for (const [index, { at }] of replayed.entries())
          assert.ok(Math.abs(at - done[index]!.at) <= 1, `step ${index}`);
      }),
    );
  });

  it('are bounded when they are recorded: steps, bytes and time', () => {
    const many = new Recorder('test', undefined, 0);
    for (let n = 0; n < MOST_STEPS + 5; n++) many.did('sim.heal', {}, n);
    assert.deepEqual([many.steps, many.full], [MOST_STEPS, true]);
    const large = new Recorder('test', undefined, 0);
    for (let n = 0; n < 4; n++) large.did('sim.hear', { wav: 'A'.repeat(100_000) }, n);
    assert.deepEqual([large.steps, large.full], [2, true]);
    reader.read(printScenario(large.scenario));
    const long = new Recorder('test', undefined, 0);
    long.did('sim.heal', {}, 3_600_001);
    assert.deepEqual([long.steps, long.full], [0, true]);
  });

  const bad: readonly (readonly [what: string, text: string, line: number, reason: RegExp])[] = [
    ['no YAML', 'scenario: [', 1, /indentation|missing/],
    ['nothing', '', 1, /object/],
    ['a form of tomorrow', 'scenario: 2\nname: test\nsteps: [{ do: sim.heal }]', 1, /must be 1/],
    ['no steps', `${head}  []`, 3, /fewer than 1/],
    ['a member that nobody knows', `${head}  - { do: sim.heal, when: now }`, 4, /not known/],
    ['a control that nobody knows', `${head}  - { do: sim.heal }\n  - { do: sim.drvei }`, 5, /did you mean sim\.drive/],
    ['a question in the place of a control', `${head}  - { do: sim.counts }`, 4, /no control sim\.counts/],
    ['itself', `${head}  - { do: sim.play, params: { name: test } }`, 4, /no control sim\.play/],
    [
      'a param out of range',
      `${head}  - { do: sim.silence, params: { ms: -1 } }`,
      4,
      /params\.ms of sim\.silence must be >= 0/,
    ],
    ['a param that is missing', `${head}  - { do: sim.drive }`, 4, /endpoint/],
    ['two times for a step', `${head}  - { do: sim.heal, at: 1, after: 1 }`, 4, /steps\.0 has both at and after/],
    ['a step that does nothing', `${head}  - { after: 5 }`, 4, /required|do/],
    ['more than an hour', `${head}${'  - { do: sim.heal, after: 3600000 }\n'.repeat(2)}`, 1, /longer than/],
    ['100,000 steps', `${head}${'  - do: sim.heal\n'.repeat(100_000)}`, 1, /characters/],
    ['20,000 steps', `${head}${'  - do: sim.heal\n'.repeat(20_000)}`, 1, /more than 1000 steps/],
    [
      'a bomb of aliases',
      `a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c, *c]`,
      1,
      /unfolded|not known/,
    ],
    ['a tower of brackets', '['.repeat(10_000), 1, /deep/],
  ];
  for (const [what, text, line, reason] of bad)
    it(`are refused with the line: ${what}`, () => {
      assert.throws(
        () => reader.read(text, 'test'),
        (error) => {
          assert.ok(error instanceof CoreError);
          assert.equal(error.code, 'plugin.simulator.SCENARIO_INVALID');
          assert.equal(error.details.line, line, error.message);
          assert.match(error.message, reason);
          return true;
        },
      );
    });

  it('have a schema for editors that is the one they are checked by', () => {
    const file = join(import.meta.dirname, '../../../manifests/schema/scenario.json');
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), SCENARIO_SCHEMA);
  });

  describe('on a device', () => {
    let device: BusCore;
    const save = (name: string, steps: string) =>
      device.call('sim.save', { name, yaml: `scenario: 1\nname: ${name}\nsteps:\n${steps}` });
    const stage = async () =>
      (await device.call<{ scenario: Record<string, Record<string, unknown>> }>('sim.state', {})).scenario;
    before(async () => {
      const tags = { name: 'tags', endpoint: 'i2c0', address: 0x24 };
      const door = { name: 'door', endpoint: 'gpio0', line: 20, direction: 'in', edge: 'both', pull: 'down' };
      device = await startBuses({
        i2c: { version: '^1.0.0', config: { handles: [tags] } },
        gpio: { version: '^1.0.0', config: { handles: [door] } },

        sensors: '^1.0.0',
        nfc: '^1.0.0',
        network: '^1.0.0',
        power: '^1.0.0',
        time: '^1.0.0',
        simulator: '^1.0.0',
        presence: { version: '^1.0.0', config: { handle: 'door' } },
        pn532: { version: '^1.0.0', config: { handle: 'tags' } },
      });
    });
    after(() => device[Symbol.asyncDispose]());

    for (const file of globSync('*.yaml', { cwd: SHIPPED }).toSorted())
      it(`${file} comes with the simulator and plays to its end`, async () => {
        const { steps } = await playScenario(device.core, join(SHIPPED, file));
        assert.ok(steps > 0);
        assert.equal((await stage()).last!.result, 'done');
      });

    it('are recorded from every caller, kept on the disk, listed and removed', async () => {
      await device.call('sim.record', { name: 'mine', title: 'By hand' });
      await device.call('sim.network', { state: 'offline' });
      await device.refusal('sim.slow', { endpoint: 'warp', ms: 1 });
      await device.call('sim.presence', { moving: true }, { kind: 'plugin', id: 'test' }).catch(() => undefined);
      const { recorded, steps } = await device.call('sim.stop', {});
      assert.equal(recorded, 'mine');
      const file = readFileSync(join(device.core.paths.var, 'simulator', 'mine.yaml'), 'utf8');
      assert.equal((await device.call('sim.scenario', { name: 'mine' })).yaml, file);
      assert.match(file, /sim\.network, params: \{ state: offline/);
      assert.doesNotMatch(file, /sim\.slow/, 'what failed was not done');
      const { scenarios } = await device.call<{ scenarios: readonly Record<string, unknown>[] }>('sim.scenarios', {});
      const mine = scenarios.find(({ name }) => name === 'mine');
      assert.deepEqual([mine?.title, mine?.steps, mine?.shipped], ['By hand', steps, false]);
      await device.call('sim.play', { name: 'mine', wait: true });
      await device.call('sim.remove', { name: 'mine' });
      assert.equal((await device.refusal('sim.play', { name: 'mine' })).code, 'plugin.simulator.SCENARIO_NOT_FOUND');
    });

    it('without steps leave no file', async () => {
      await device.call('sim.record', { name: 'empty' });
      assert.deepEqual(await device.call('sim.stop', {}), { stopped: 'empty', steps: 0 });
      assert.equal(
        (await device.refusal('sim.scenario', { name: 'empty' })).code,
        'plugin.simulator.SCENARIO_NOT_FOUND',
      );
      assert.deepEqual(await device.call('sim.stop', {}), {});
    });

    it('name the step and the line where they fail, and say so in the state', async () => {
      await save('failing', '  - { do: sim.heal }\n  - { do: sim.slow, params: { endpoint: spi9, ms: 1 } }\n');
      const error = await device.refusal('sim.play', { name: 'failing', wait: true });
      assert.equal(error.code, 'plugin.simulator.SCENARIO_FAILED');
      assert.match(error.message, /^step 2 of scenario failing \(line 5, sim\.slow\) failed: .*spi9/);
      assert.deepEqual([(await stage()).last!.result, (await stage()).playing], ['failed', undefined]);
    });

    it('fail where an event does not come that they expect', async () => {
      await save(
        'hopeful',
        '  - { do: sim.heal, expect: { event: bridge.link, payload: { state: down }, withinMs: 30 } }\n',
      );
      const { message } = await device.refusal('sim.play', { name: 'hopeful', wait: true });
      assert.match(message, /no event bridge\.link with \{"state":"down"\} came in 30 ms/);
    });

    it('run one at a time, are not recorded while they run, and can be stopped', async () => {
      await save('long', '  - { do: sim.heal }\n  - { do: sim.heal, after: 3000000 }\n');
      await device.call('sim.play', { name: 'long' });
      await eventually('its first step', async () => (await stage()).playing?.step === 1);
      for (const [name, params] of [
        ['sim.play', { name: 'long' }],
        ['sim.record', { name: 'other' }],
      ] as const)
        assert.equal((await device.refusal(name, params)).code, 'plugin.simulator.SCENARIO_BUSY');
      assert.deepEqual(await device.call('sim.stop', {}), { stopped: 'long', steps: 1 });
      assert.equal((await stage()).last!.result, 'stopped');
      await device.call('sim.record', { name: 'other' });
      assert.equal((await device.refusal('sim.play', { name: 'long' })).code, 'plugin.simulator.SCENARIO_BUSY');
      await device.call('sim.stop', {});
    });

    it('end with the call that waits for them', async () => {
      const error = await device.refusal('sim.play', { name: 'long', wait: true }, undefined, 300);
      assert.match(error.code, /^(TIMEOUT|CANCELLED)$/);
      await eventually('its end', async () => (await stage()).playing === undefined);
      assert.equal((await stage()).last!.result, 'stopped');
    });

    it('fail where the process of the bridge is dead, and the next one plays', async () => {
      await device.call('sim.die', {});
      await eventually('its end', async () => (await device.call('sim.state', {})).bridge === undefined);
      const error = await device.refusal('sim.play', { name: 'failing', wait: true });
      assert.match(error.message, /^step [12] of scenario failing/);
      await eventually('its return', async () => (await device.call('sim.state', {})).bridge !== undefined);
      await device.call('sim.play', { yaml: `${head}  - { do: sim.heal }`, wait: true });
    });

    const refused: readonly (readonly [what: string, operation: string, params: object, code: string])[] = [
      ['a name that is a path', 'sim.save', { name: '../x', yaml: 'x' }, 'PARAMS_INVALID'],
      [
        'a name of its own in the file',
        'sim.save',
        { name: 'other', yaml: `${head}  - { do: sim.heal }` },
        'plugin.simulator.SCENARIO_INVALID',
      ],
      [
        'over one that is shipped',
        'sim.save',
        { name: 'visitor', yaml: readFileSync(join(SHIPPED, 'visitor.yaml'), 'utf8') },
        'plugin.simulator.SCENARIO_KEPT',
      ],
      ['to record over one that is shipped', 'sim.record', { name: 'visitor' }, 'plugin.simulator.SCENARIO_KEPT'],
      ['to remove one that is shipped', 'sim.remove', { name: 'visitor' }, 'plugin.simulator.SCENARIO_KEPT'],
      ['to remove what is not there', 'sim.remove', { name: 'nobody' }, 'plugin.simulator.SCENARIO_NOT_FOUND'],
      ['to play both a name and a text', 'sim.play', { name: 'visitor', yaml: 'x' }, 'PARAMS_INVALID'],
      ['to play nothing', 'sim.play', {}, 'PARAMS_INVALID'],
    ];
    for (const [what, operation, params, expected] of refused)
      it(`refuse ${what}`, async () => {
        assert.equal((await device.refusal(operation, params)).code, expected);
      });

    it('that are damaged on the disk are listed with the fault', async () => {
      const folder = join(device.core.paths.var, 'simulator');
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'torn.yaml'), 'scenario: 1\nname: to');
      const { scenarios } = await device.call<{ scenarios: readonly Record<string, unknown>[] }>('sim.scenarios', {});
      assert.match(String(scenarios.find(({ name }) => name === 'torn')?.problem), /line \d+/);
      assert.deepEqual(code('SCENARIO_INVALID').code, (await device.refusal('sim.play', { name: 'torn' })).code);
    });
  });
});
