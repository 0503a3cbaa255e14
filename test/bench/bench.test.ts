/** The bench's own logic: what is selected, what a measurement means, what is kept, and that no row ends a run. The rows themselves are not run. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { SkuPlugin } from '@device-core/plugin-api';
import { parse } from 'yaml';
import { resolveSku } from '../../kernel/boot/check.ts';
import { eventually } from '../fixtures/eventually.ts';
import { entryOf, thisCheckout, writeSku } from './checkout.ts';
import type { Goal, Measured, Row } from './harness.ts';
import { isSimulator, type ProcessEntry, treeOf } from './process-tree.ts';
import { type Kept, keyOf, markdown, merged, ResultsFolder, withFigures } from './results.ts';
import { runRow, type Surroundings } from './run-row.ts';
import { readWanted } from './selection.ts';
import { BENCH_SKUS, headlessWithoutTcp, placed, throughCloud } from './sku-data.ts';
import { failed, figure, format, judge, type Line, summary } from './verdict.ts';
import { Workload } from './workloads/written-plugins.ts';

const numbers = (...args: string[]) => [...(readWanted(args).rows ?? [])];

describe('the command line', () => {
  const selections: readonly [args: string[], rows: number[]][] = [
    [[], []],
    [['3'], [3]],
    [
      ['1-3,9', '12'],
      [1, 2, 3, 9, 12],
    ],
    [
      ['isolation', '46'],
      [18, 19, 20, 21, 46],
    ],
    [['board'], [46, 47, 48, 49, 50, 51, 52]],
  ];
  for (const [args, rows] of selections)
    test(`"${args.join(' ')}" selects ${rows.length === 0 ? 'all rows' : rows.join(', ')}`, () => {
      assert.deepEqual(numbers(...args), rows);
      assert.equal(readWanted(args).board, args.includes('board'));
    });

  const refused: readonly [args: string[], message: RegExp][] = [
    [['voices'], /cannot select rows "voices": .*voice/],
    [['1-'], /cannot select rows "1-"/],
    [['board', '3'], /cannot select rows beside "board"/],
    [['--profile', 'stop'], /expected start or idle/],
    [['--fast'], /--fast/],
    [['46', '--sku', 'board'], /cannot take --sku without --profile/],
  ];
  for (const [args, message] of refused)
    test(`"${args.join(' ')}" is refused`, () => {
      assert.throws(() => readWanted(args), message);
    });

  test('names a commit, a profile and a look', () => {
    const wanted = readWanted(['46', '--against', 'b22a9a8', '--quick', '--profile', 'idle']);
    assert.deepEqual([wanted.against, wanted.quick, wanted.profile], ['b22a9a8', true, 'idle']);
  });
});

const alike = (value: number): Measured => ({ q1: value, median: value, q3: value });
const goal = (name: string, most = 2): Goal => ({ name, goal: most });
const row = (id: number, run: Row['run'], ...names: string[]): Row => ({
  id,
  title: `row ${id}`,
  goals: (names.length === 0 ? ['a'] : names).map((name) => goal(name)),
  run,
});
const head = row(7, async () => ({}), 'a', 'b', 'c', 'd', 'e');

describe('a verdict', () => {
  const lines = judge(head, { a: alike(2), b: alike(2.01), c: { skipped: 'no bus here' }, d: alike(Number.NaN) });

  test('is met at the goal, missed above it, and a figure that is no number is a fault', () => {
    assert.deepEqual(
      lines.map(({ goal: { name }, verdict, reason }) => [name, verdict, reason]),
      [
        ['a', 'PASS', undefined],
        ['b', 'MISS', undefined],
        ['c', 'SKIP', 'no bus here'],
        ['d', 'FAIL', 'measured NaN'],
        ['e', 'SKIP', 'not on this machine'],
      ],
    );
  });

  test('is printed with the figure, the quartiles and the goal', () => {
    assert.match(format(lines[0]!), /PASS {2}a +2\.00 x {2}\[ {2}2\.00 \.\. {2}2\.00\] {2}goal <= 2$/);
    assert.match(format(lines[2]!), /SKIP {2}c +no bus here$/);
  });

  test('missed, failed and skipped rows are named at the end', () => {
    const text = summary([
      ...lines,
      ...failed(
        row(8, async () => ({}), 'a', 'b'),
        new Error('it broke\n  in two\n'),
      ),
    ]);
    assert.equal(
      text,
      [
        '1 met, 1 missed, 2 skipped, 3 failed',
        '',
        'missed:',
        '  row 7, b: 2.01 x, goal 2',
        '',
        'failed:',
        '  row 7, d: measured NaN',
        '  row 8, a; b: Error: it broke; in two',
        '',
        'skipped:',
        '  row 7, c: no bus here',
        '  row 7, e: not on this machine',
      ].join('\n'),
    );
    assert.equal(summary(lines.slice(0, 1)), '1 met, 0 missed, 0 skipped, 0 failed');
  });

  test('a figure has three digits and no exponent', () => {
    assert.deepEqual([0, 0.1234, 12.34, 123.4, 54_321].map(figure), ['0', '0.123', '12.3', '123', '54321']);
  });
});

const kept = (id: number, value: number, more: Partial<Kept> = {}): Kept => ({
  at: '2026-11-22T10:00:00.000Z',
  commit: 'aaaaaaaaaa',
  quick: false,
  board: false,
  load: [0.5, 0.5],
  machine: { node: 'v24.0.0', cpu: 'a processor', cores: 2, memoryMb: 4000 },
  lines: judge(
    row(id, async () => ({})),
    { a: alike(value) },
  ),
  ...more,
});
const value = (one: Kept | undefined) => one?.lines[0]?.measured?.median;

describe('results', () => {
  test('a partial run changes its own rows only', () => {
    const all = merged({ 1: kept(1, 1), 2: kept(2, 1) }, { 2: kept(2, 5), 3: kept(3, 5) });
    assert.deepEqual([value(all[1]), value(all[2]), value(all[3])], [1, 5, 5]);
  });

  test('a look changes a look only', () => {
    const look = { 1: kept(1, 5, { quick: true }), 2: kept(2, 5, { quick: true }), 3: kept(3, 5, { quick: true }) };
    const all = merged({ 1: kept(1, 1), 2: kept(2, 1, { quick: true }) }, look);
    assert.deepEqual([value(all[1]), value(all[2]), value(all[3])], [1, 5, 5]);
  });

  test('a row on the board is another one', () => {
    assert.notEqual(keyOf(46, true), keyOf(46, false));
  });

  test('are kept after each row, beside a file of each run', () => {
    const folder = mkdtempSync(join(tmpdir(), 'db-'));
    try {
      const results = new ResultsFolder(folder);
      assert.deepEqual(results.latest, {});
      results.keep('first', { 1: kept(1, 1), 2: kept(2, 1) });
      results.keep('second', { 2: kept(2, 5) });
      results.keep('second', { 2: kept(2, 5), 3: kept(3, 5) });
      assert.deepEqual(Object.values(results.latest).map(value), [1, 5, 5]);
      assert.deepEqual(readdirSync(join(folder, 'runs')).sort(), ['first.json', 'second.json']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('are a table for each set of circumstances, in the order of the rows', () => {
    const text = markdown({
      3: kept(3, 1),
      '46 board': kept(46, 9, { board: true, confined: ['one core by taskset -c 0'] }),
      1: kept(1, 1, { load: [7, 3] }),
      9: kept(9, 1, {
        against: 'bbbbbbbbbb',
        lines: judge(head, { a: { ...alike(1), ours: '1 | 2', theirs: '<3>' } }),
      }),
    });
    const titles = text.split('\n').filter((line) => line.startsWith('On the'));
    assert.deepEqual(titles, [
      'On the machine: 2026-11-22, commit aaaaaaaaaa; a processor, 2 cores, 4000 MB, Node v24.0.0; load 7.0.',
      'On the machine: 2026-11-22, commit aaaaaaaaaa against bbbbbbbbbb; a processor, 2 cores, 4000 MB, Node v24.0.0; load 0.5.',
      'On the board: 2026-11-22, commit aaaaaaaaaa; a processor, 2 cores, 4000 MB, Node v24.0.0; one core by taskset -c 0; load 0.5.',
    ]);
    assert.ok(
      text.includes('| 1 | row 1: a | 1.00 x | 2 x | met |  |\n| 3 | row 3: a | 1.00 x | 2 x | met |  |'),
      text,
    );
    assert.ok(text.includes('1 \\| 2 : &lt;3>'), text);
    assert.ok(text.includes('| 46 | row 46: a | 9.00 x | 2 x | **missed** |  |'), text);
  });
});

/** What the Core says of a SKU before it starts. */
const problemsOf = (file: string) => resolveSku(file, [], join(dirname(file), 'var')).problems;

describe('a SKU made of data', () => {
  const folder = mkdtempSync(join(tmpdir(), 'db-'));
  after(() => rmSync(folder, { recursive: true }));

  for (const [name, make] of Object.entries(BENCH_SKUS))
    test(`${name} is one that this checkout runs`, () => {
      assert.deepEqual(problemsOf(placed(folder, make(folder))), []);
    });

  test('of written plugins is one, at each level', () => {
    for (const options of [
      {},
      { last: 'worker' },
      { last: 'process' },
      { shared: true },
      { without: ['http'] },
    ] as const) {
      using work = new Workload(8, options);
      assert.deepEqual(problemsOf(work.sku), [], JSON.stringify(options));
    }
  });

  test('has what the row changes, and keeps the rest of the line', () => {
    const { plugins } = throughCloud(1);
    assert.deepEqual((plugins.voice as SkuPlugin).config, { router: { local: false } });
    assert.deepEqual((headlessWithoutTcp().plugins.http as SkuPlugin).essential, true);
  });
});

describe('a frozen SKU', () => {
  const folder = mkdtempSync(join(tmpdir(), 'db-'));
  const path = join(folder, 'bench.yaml');
  after(() => rmSync(folder, { recursive: true }));

  for (const name of ['board', 'headless-io'])
    test(`${name} is one that this checkout runs`, () => {
      assert.deepEqual(writeSku(name, thisCheckout(), path), []);
      assert.deepEqual(problemsOf(path), []);
    });

  test('telling is one that this checkout runs', () => {
    assert.deepEqual(problemsOf(join(import.meta.dirname, 'skus/telling.yaml')), []);
  });

  test('loses rows that an older commit does not have, and rows that are left out', () => {
    const older = { folder: join(folder, 'older'), commit: 'unknown' };
    mkdirSync(join(older.folder, 'manifests/plugins/wing'), { recursive: true });
    const { plugins } = parse(readFileSync(join(import.meta.dirname, 'skus/board.yaml'), 'utf8'));
    const ids = Object.keys(plugins).filter((id) => id !== 'endpoints');
    for (const [index, id] of ids.entries())
      writeFileSync(join(older.folder, 'manifests/plugins', index % 2 === 0 ? 'wing' : '', `${id}.yaml`), '');
    assert.deepEqual(writeSku('board', older, path, ['nfc']), ['endpoints']);
    const written = parse(readFileSync(path, 'utf8'));
    assert.deepEqual(
      Object.keys(written.plugins),
      ids.filter((id) => id !== 'nfc'),
    );
    assert.deepEqual(written.plugins.spi, plugins.spi);
  });

  test('a Core begins where its commit begins', () => {
    const old = join(folder, 'old');
    mkdirSync(join(old, 'kernel'), { recursive: true });
    assert.equal(entryOf({ folder: old }), join(old, 'kernel/main.ts'));
    writeFileSync(join(old, 'kernel/start.js'), '');
    assert.equal(entryOf({ folder: old }), join(old, 'kernel/start.js'));
  });
});

test('figures take the place of those of a page', () => {
  const page = 'before\n<!-- figures -->\n\nold\n\n<!-- end of figures -->\nafter $1';
  const written = withFigures(page, '| $& |');
  assert.equal(written, 'before\n<!-- figures -->\n\n| $& |\n\n<!-- end of figures -->\nafter $1');
  assert.equal(withFigures(written, '| $& |'), written);
  assert.throws(() => withFigures('no marks', ''), /no marks/);
});

/** Errors that nobody awaits come by hand, and nothing is killed. */
class Room implements Surroundings {
  heard: ((error: unknown) => void) | undefined;
  killed = 0;
  onKill = (): void => undefined;

  strays(heard: (error: unknown) => void): Disposable {
    this.heard = heard;
    return {
      [Symbol.dispose]: () => {
        this.heard = undefined;
      },
    };
  }

  killAll(): void {
    this.killed++;
    this.onKill();
  }
}

const verdicts = (lines: readonly Line[]) => lines.map(({ verdict, reason }) => [verdict, reason]);

describe('a row', () => {
  test('that measures ends with its verdicts, and nothing is killed', async () => {
    const room = new Room();
    assert.deepEqual(
      verdicts(
        await runRow(
          row(1, async () => ({ a: alike(1) })),
          { quick: true },
          room,
        ),
      ),
      [['PASS', undefined]],
    );
    assert.deepEqual([room.killed, room.heard], [0, undefined]);
  });

  test('that throws is charged for it, and its processes are killed', async () => {
    const room = new Room();
    const broken = row(1, async () => {
      throw new Error('no peer');
    });
    assert.deepEqual(verdicts(await runRow(broken, { quick: true }, room)), [['FAIL', 'Error: no peer']]);
    assert.deepEqual([room.killed, room.heard], [1, undefined]);
  });

  test('is charged for a lane that fails while it waits, and is over before the next one', async () => {
    const room = new Room();
    const order: string[] = [];
    const waits = Promise.withResolvers<never>();
    room.onKill = () => {
      order.push('killed');
      waits.reject(new Error('the Core is gone'));
    };
    const hanging = row(
      1,
      async () => {
        try {
          return await waits.promise;
        } finally {
          order.push('over');
        }
      },
      'a',
      'b',
    );
    const running = runRow(hanging, { quick: true }, room);
    await eventually(() => room.heard !== undefined, 'the row');
    room.heard!(new Error('the lane was answered 429'));
    assert.deepEqual(verdicts(await running), [
      ['FAIL', 'Error: the lane was answered 429'],
      ['FAIL', 'Error: the lane was answered 429'],
    ]);
    assert.deepEqual(order, ['killed', 'over']);
  });

  test('has not measured when its lane failed before the end', async () => {
    const room = new Room();
    const lines = await runRow(
      row(1, async () => {
        room.heard!(new Error('too late'));
        return { a: alike(1) };
      }),
      { quick: true },
      room,
    );
    assert.deepEqual(verdicts(lines), [['FAIL', 'Error: too late']]);
  });
});

describe('the processes of a device', () => {
  const entry = (pid: number, parent: number, command = 'node'): ProcessEntry => ({ pid, parent, command });

  test('are the Core and what it and its children started', () => {
    const all = [entry(1, 0), entry(5, 1), entry(6, 5), entry(7, 1), entry(8, 6), entry(9, 7)];
    assert.deepEqual(
      treeOf(5, all).map(({ pid }) => pid),
      [5, 6, 8],
    );
    assert.deepEqual(treeOf(4, all), []);
  });

  test('the simulator of the bridge is told from the Core that runs its plugin', () => {
    const simulators = [
      'node plugins/hardware/port-sim/sim/main.js --socket run/cbp-sim.sock --board demo.yaml',
      '/opt/node /a/plugins/port-sim/cbp-sim.ts --socket /r/cbp-sim.sock --board demo.yaml',
    ];
    for (const command of simulators) assert.ok(isSimulator(entry(1, 0, command)), command);
    assert.ok(!isSimulator(entry(1, 0, 'node kernel/start.js --sku board.yaml --root /tmp/port-sim')));
  });
});
