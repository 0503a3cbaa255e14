/** Journeys of a device through the real boot loader, in a folder of its own: whatever ends its starts and harms its files. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { RECORD_BYTES } from '@device-core/plugin-api/inside/boot-record';
import fc from 'fast-check';
import { endedNow, readyNow } from '../../../kernel/init/heard.ts';
import { runs } from '../../fixtures/runs.ts';
import { SlotWorld, start } from '../../fixtures/slot-world.ts';

const RECORD = 'system/boot/record';

type Fate = 'crash' | 'hang' | 'exit 0' | 'ready, crash' | 'ready, stop' | 'ready, exit 0' | 'power' | 'ready, power';
const FATES: readonly Fate[] = [
  'crash',
  'hang',
  'exit 0',
  'ready, crash',
  'ready, stop',
  'ready, exit 0',
  'power',
  'ready, power',
];

test('on journeys through the real loader nothing starts that is no image, something starts where it can, at most twenty times a minute', async () => {
  const step = fc.record({
    fate: fc.constantFrom(...FATES),
    lived: fc.constantFrom(0, 1, 20, 700),
    harm: fc.option(fc.constantFrom('a file', 'a slot', 'the record', 'half the record'), { freq: 6, nil: undefined }),
    slot: fc.constantFrom('a', 'b'),
    used: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 5, maxLength: 25 }),
      fc.constantFrom(undefined, 'a' as const, 'b' as const),
      async (steps, trial) => {
        using world = SlotWorld.twins();
        if (trial !== undefined) {
          const { slots, ...rest } = world.record();
          world.record({ ...rest, slots: { ...slots, [trial]: { ...slots[trial], state: 'trial' } } });
        }
        const starts: number[] = [];
        // Brief starts of the same slot in the same way, one after another.
        const row = { way: '', count: 0 };
        let boots = 1;
        for (const { fate, lived, harm, slot, used } of steps) {
          // The record that is lost has counted them.
          if (harm?.endsWith('the record')) row.count = 0;
          if (harm === 'a file' && existsSync(world.path(`system/slots/${slot}/kernel`)))
            writeFileSync(world.path(`system/slots/${slot}/kernel/main.js`), 'harm');
          if (harm === 'a slot') rmSync(world.path(`system/slots/${slot}`), { recursive: true, force: true });
          if (harm === 'the record') rmSync(world.path(RECORD), { force: true });
          if (harm === 'half the record')
            writeFileSync(world.path(RECORD), readFileSync(world.path(RECORD)).fill('x', 0, RECORD_BYTES));
          if (used) writeFileSync(world.path('core/safe-mode-used'), '');
          const whole = ['a', 'b'].filter((one) => isWhole(world, one));
          const report = await start(world);
          assert.equal(report.slot !== undefined, whole.length > 0);
          if (report.slot === undefined) continue;
          assert.ok(isWhole(world, report.slot));
          starts.push(world.uptime);
          const way = `${report.slot} ${report.safe}`;
          row.count = row.way === way ? row.count + 1 : 1;
          row.way = way;
          assert.ok(row.count <= 10, `${way} was started ${row.count} times`);
          if (lived > 600 || fate.endsWith('power')) row.count = 0;
          if (fate.startsWith('ready')) readyNow(world.here);
          world.uptime += lived;
          if (fate.endsWith('power')) {
            world.boot = `boot ${++boots}`;
            rmSync(world.path('run'), { recursive: true });
            mkdirSync(world.path('run'));
            continue;
          }
          const results: Readonly<Record<string, string>> = { hang: 'watchdog', 'exit 0': 'protocol', crash: 'signal' };
          const result = results[fate.replace('ready, ', '')] ?? 'success';
          endedNow(world.here, { SERVICE_RESULT: fate.startsWith('ready') && fate.endsWith('0') ? 'success' : result });
        }
        // Boots of their own begin at other times; their rate is the machine's.
        if (boots === 1)
          for (const at of starts) assert.ok(starts.filter((one) => one >= at && one < at + 60).length <= 20);
      },
    ),
    { numRuns: runs(200) },
  );
});

function isWhole(world: SlotWorld, slot: string): boolean {
  const path = world.path(`system/slots/${slot}`);
  const twin = world.path(`system/slots/${slot === 'a' ? 'b' : 'a'}`);
  const good = (folder: string): boolean =>
    existsSync(join(folder, 'kernel/main.js')) && readFileSync(join(folder, 'kernel/main.js'), 'utf8') !== 'harm';
  return existsSync(path) && (good(path) || good(twin));
}

describe('starts in a minute', () => {
  for (const fate of FATES.filter((one) => !one.endsWith('power')))
    test(`at most twenty, when each one ends so: ${fate}`, async () => {
      using world = SlotWorld.twins();
      const begin = world.uptime;
      let count = 0;
      for (;;) {
        await start(world);
        if (world.uptime >= begin + 60) break;
        count++;
        if (fate.startsWith('ready')) readyNow(world.here);
        endedNow(world.here, {
          SERVICE_RESULT: fate === 'exit 0' ? 'protocol' : /stop|0/.test(fate) ? 'success' : 'signal',
        });
      }
      assert.ok(count <= 20, `${count}`);
    });

  test('a trial whose Core says READY and ends itself in order is left, too', async () => {
    using world = SlotWorld.twins();
    const { slots, ...rest } = world.record();
    world.record({ ...rest, slots: { ...slots, a: { ...slots.a, state: 'trial' } } });
    const path: (string | undefined)[] = [];
    for (let at = 0; at < 4; at++) {
      path.push((await start(world)).slot);
      readyNow(world.here);
      endedNow(world.here, { SERVICE_RESULT: 'success' });
    }
    assert.deepEqual(path, ['a', 'a', 'a', 'b']);
  });
});
