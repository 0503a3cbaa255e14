/** Which slot starts: worlds by a table, and journeys that nobody thought of. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Choice, choose, ended, ready, type World } from '../../../kernel/init/choose.ts';
import { type BootRecord, newRecord, type Slot, type SlotName } from '../../../plugin-api/inside/boot-record.ts';
import { runs } from '../../fixtures/runs.ts';

type Fate =
  | 'crash'
  | 'crash-ready'
  | 'hang'
  | 'power'
  | 'power-ready'
  | 'reboot'
  | 'stop'
  | 'quit'
  | 'by-hand'
  | 'well';
interface Device {
  record: BootRecord;
  boot: number;
  uptime: number;
  readonly problems: Partial<Record<SlotName, string>>;
  readonly starts: { readonly slot: SlotName; readonly safe: boolean; readonly at: number }[];
}

/** Seconds; others two. `quit` and `by-hand` are ends with 0 in the same boot, of itself and by an operator. */
const LIVED: Partial<Record<Fate, number>> = { well: 4000, 'by-hand': 200, 'crash-ready': 60, quit: 11 };
const GOOD: Slot = { state: 'good', version: '1.0.0', tries: 0 };
const TRIAL: Slot = { state: 'trial', version: '1.1.0', tries: 0 };
const device = (a: Slot, b: Slot, primary: SlotName = 'a'): Device => ({
  record: newRecord({ a, b }, primary),
  boot: 1,
  uptime: 10,
  problems: {},
  starts: [],
});

/** One start and its end; `time` is kept over boots, in seconds. */
function live(device: Device, fate: Fate, world: Partial<World> = {}): Choice {
  const choice = choose(device.record, {
    boot: `boot ${device.boot}`,
    uptime: device.uptime,
    problem: (slot: SlotName) => device.problems[slot],
    ...world,
  });
  device.record = choice.record;
  device.uptime += choice.wait;
  if (choice.start === undefined) return choice;
  device.starts.push({ ...choice.start, at: device.uptime });
  const reboot = (): void => {
    device.boot += 1;
    device.uptime += 20;
  };
  if (fate !== 'crash' && fate !== 'hang' && fate !== 'power') device.record = ready(device.record);
  device.uptime += LIVED[fate] ?? 2;
  if (fate === 'crash' || fate === 'crash-ready') device.record = ended(device.record, false, 'exit-code exited 1');
  else if (fate === 'hang') device.record = ended(device.record, false, 'timeout killed ABRT');
  else if (fate === 'power' || fate === 'power-ready') reboot();
  else {
    device.record = ended(device.record, true, 'success exited 0');
    if (fate === 'reboot') reboot();
  }
  return choice;
}

const times = (count: number, fate: Fate): readonly Fate[] => Array.from({ length: count }, () => fate);
const path = ({ starts }: Device): string =>
  starts.map(({ slot, safe }) => (safe ? slot.toUpperCase() : slot)).join('');

describe('worlds', () => {
  for (const [what, begin, fates, expected] of [
    ['all is well', device(GOOD, GOOD), times(4, 'reboot'), 'aaaa'],
    ['a trial crashes at once: three starts, then the other', device(TRIAL, GOOD), times(4, 'crash'), 'aaab'],
    ['a trial hangs', device(TRIAL, GOOD), times(4, 'hang'), 'aaab'],
    ['a trial says READY and crashes', device(TRIAL, GOOD), times(4, 'crash-ready'), 'aaab'],
    ['the power goes in each start of a trial', device(TRIAL, GOOD), times(4, 'power'), 'aaab'],
    ['orderly reboots do a trial no harm', device(TRIAL, GOOD), times(12, 'reboot'), 'a'.repeat(12)],
    [
      'ten orderly reboots of a trial at two tries',
      device({ ...TRIAL, tries: 2 }, GOOD),
      times(10, 'reboot'),
      'a'.repeat(10),
    ],
    ['thirty restarts by hand, one each three minutes', device(GOOD, GOOD), times(30, 'by-hand'), 'a'.repeat(30)],
    [
      'four restarts by hand, one after another',
      device(GOOD, GOOD),
      [...times(4, 'stop'), 'well', 'stop'] as Fate[],
      'aaaaaa',
    ],
    ['a good slot ends at once with 0: its safe mode', device(GOOD, GOOD), times(6, 'stop'), 'aaaaaA'],
    ['a good slot ends soon with 0: its safe mode', device(GOOD, GOOD), times(6, 'quit'), 'aaaaaA'],
    ['all ends with 0, safe modes too: each way is tried', device(GOOD, GOOD), times(17, 'quit'), 'aaaaaAAAbbbbbBBBa'],
    ['a trial ends soon with 0: three starts', device(TRIAL, GOOD), times(4, 'quit'), 'aaab'],
    ['a trial ends with 0 after minutes: three starts', device(TRIAL, GOOD), times(4, 'by-hand'), 'aaab'],
    [
      'below is a trial: three starts, its safe mode, and back',
      device(GOOD, TRIAL),
      times(15, 'crash'),
      'aaaaaAAAbbbBBBa',
    ],
    ['below is a trial that ends soon with 0', device(GOOD, TRIAL), times(15, 'quit'), 'aaaaaAAAbbbBBBa'],
    [
      'below is a trial that runs well: it stays',
      device(GOOD, TRIAL),
      [...times(8, 'crash'), 'reboot', 'well', 'reboot', 'reboot'] as Fate[],
      'aaaaaAAAbbbb',
    ],
    [
      'nobody uses the safe mode of a trial below: once more, and one crash is enough',
      device(GOOD, TRIAL),
      [...times(11, 'crash'), 'well', 'crash', 'well', 'reboot'] as Fate[],
      'aaaaaAAAbbbBbBb',
    ],
    ['a good slot crashes five times: its safe mode', device(GOOD, GOOD), times(6, 'crash'), 'aaaaaA'],
    [
      'one crash an hour is none',
      device(GOOD, GOOD),
      Array.from({ length: 12 }, (_, at) => (at % 2 ? 'well' : 'crash') as Fate),
      'a'.repeat(12),
    ],
    ['three power cuts while starting', device(GOOD, GOOD), times(4, 'power'), 'aaaA'],
    ['power cuts of a device that runs', device(GOOD, GOOD), times(9, 'power-ready'), 'a'.repeat(9)],
    [
      'nobody uses safe mode: once more, and one crash is enough',
      device(GOOD, GOOD),
      [...times(5, 'crash'), 'well', 'crash', 'well'] as Fate[],
      'aaaaaAaA',
    ],
    ['safe mode is broken, too: the other slot', device(GOOD, GOOD), times(9, 'crash'), 'aaaaaAAAb'],
    ['nothing works: from the start, with a pause', device(GOOD, GOOD), times(17, 'crash'), 'aaaaaAAAbbbbbBBBa'],
    ['nothing works and there is no other', device(GOOD, { state: 'empty', tries: 0 }), times(9, 'crash'), 'aaaaaAAAa'],
  ] as const)
    test(what, () => {
      const { record, problems } = begin;
      const one: Device = {
        ...begin,
        record,
        problems: problems.b ? problems : begin.record.slots.b.state === 'empty' ? { b: 'it is empty' } : {},
        starts: [],
      };
      for (const fate of fates) live(one, fate);
      assert.equal(path(one), expected);
    });

  test('a damaged slot is left, and nothing that cannot be started is started', () => {
    const one = device(GOOD, GOOD);
    one.problems.a = 'kernel/main.js: it has another content';
    live(one, 'reboot');
    assert.equal(path(one), 'b');
    assert.deepEqual(one.record.slots.a, { ...GOOD, state: 'bad', reason: one.problems.a });
  });
  test('with no slot there is no start, the reason is said, and it is tried again', () => {
    const one = device(GOOD, GOOD);
    Object.assign(one.problems, { a: 'gone', b: 'not signed' });
    const choice = live(one, 'crash');
    assert.equal(choice.start, undefined);
    assert.equal(choice.wait, 60);
    assert.match(choice.why, /a is bad \(gone\); b is bad \(not signed\)/);
    delete one.problems.b;
    live(one, 'reboot');
    assert.equal(path(one), 'b');
  });
  test('safe mode by hand is for one start', () => {
    const one = device(GOOD, GOOD);
    live(one, 'reboot', { asked: 'the file safe-mode' });
    live(one, 'reboot');
    assert.equal(path(one), 'Aa');
  });
  test('safe mode that was used ends the failures', () => {
    const one = device(GOOD, GOOD);
    for (const fate of times(5, 'crash')) live(one, fate);
    live(one, 'well');
    live(one, 'well', { used: true });
    live(one, 'crash');
    live(one, 'well');
    assert.equal(path(one), 'aaaaaAaaa');
    assert.equal(one.record.cause, undefined);
  });
  test('a minute of the worst world has at most twenty starts', () => {
    const one = device(GOOD, GOOD);
    for (let at = 0; at < 200; at++) live(one, 'crash');
    const most = Math.max(
      ...one.starts.map(({ at }) => one.starts.filter((start) => start.at >= at && start.at < at + 60).length),
    );
    assert.ok(most <= 20, `${most}`);
  });
});

test('on no journey is a slot started that cannot be, and there is always a start where one can', () => {
  const slot = fc.record({
    state: fc.constantFrom('good', 'trial', 'bad', 'empty'),
    tries: fc.integer({ min: 0, max: 3 }),
  });
  const step = fc.record({
    fate: fc.constantFrom<Fate>(
      'crash',
      'crash-ready',
      'hang',
      'power',
      'power-ready',
      'reboot',
      'stop',
      'quit',
      'by-hand',
      'well',
    ),
    damage: fc.option(fc.constantFrom<SlotName>('a', 'b'), { freq: 8 }),
    mend: fc.option(fc.constantFrom<SlotName>('a', 'b'), { freq: 4 }),
    used: fc.boolean(),
  });
  fc.assert(
    fc.property(
      slot,
      slot,
      fc.constantFrom<SlotName>('a', 'b'),
      fc.array(step, { maxLength: 40 }),
      (a, b, primary, steps) => {
        const one = device(a as Slot, b as Slot, primary);
        for (const name of ['a', 'b'] as const)
          if (one.record.slots[name].state === 'empty') one.problems[name] = 'empty';
        for (const { fate, damage, mend, used } of steps) {
          if (damage !== null) one.problems[damage] = 'damaged';
          if (mend !== null && one.record.slots[mend].state !== 'empty') delete one.problems[mend];
          const choice = live(one, fate, { used });
          const can = (['a', 'b'] as const).some((name) => one.problems[name] === undefined);
          assert.equal(choice.start !== undefined, can);
          if (choice.start !== undefined) assert.equal(one.problems[choice.start.slot], undefined);
        }
      },
    ),
    { numRuns: runs(2000) },
  );
});

test('a slot that is never found good and never runs for long is left within eight starts of a boot, and all four ways are tried within twenty', () => {
  const slot = fc.record({ state: fc.constantFrom('good', 'trial', 'bad'), tries: fc.integer({ min: 0, max: 3 }) });
  const fate = fc.constantFrom<Fate>('crash', 'crash-ready', 'hang', 'stop', 'quit');
  fc.assert(
    fc.property(
      slot,
      slot,
      fc.constantFrom<SlotName>('a', 'b'),
      fc.array(fate, { minLength: 40, maxLength: 80 }),
      (a, b, primary, fates) => {
        const one = device(a as Slot, b as Slot, primary);
        for (const fate of fates) {
          live(one, fate);
          const [x, y] = [one.record.slots.a, one.record.slots.b];
          assert.ok(x.tries <= 3 && y.tries <= 3, 'tries have an end');
        }
        const whole = path(one);
        assert.doesNotMatch(whole, /([aAbB])\1{8}/);
        for (let at = 0; at + 20 <= whole.length; at++) assert.equal(new Set(whole.slice(at, at + 20)).size, 4, whole);
      },
    ),
    { numRuns: runs(1000) },
  );
});

test('a trial that is left says how its last start ended', () => {
  for (const [fate, end] of [
    ['crash', '; the last one ended: exit-code exited 1'],
    ['hang', '; the last one ended: timeout killed ABRT'],
    ['power', ''],
  ] as const) {
    const one = device(TRIAL, GOOD);
    for (let start = 0; start < 4; start += 1) live(one, fate);
    assert.equal(one.record.slots.a.reason, `3 starts, and it was never found good${end}`);
  }
});

test('a trial that is never found good is left after three starts in all cases', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom<Fate>('crash', 'crash-ready', 'hang', 'power', 'power-ready', 'stop', 'quit'), {
        minLength: 4,
        maxLength: 12,
      }),
      (fates) => {
        const one = device(TRIAL, GOOD);
        for (const fate of fates) live(one, fate);
        assert.equal(path(one).slice(0, 4), 'aaab');
      },
    ),
    { numRuns: runs(500) },
  );
});
