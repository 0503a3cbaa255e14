/** Row 100: what a line of the log costs, and one at level debug that the flight recorder alone takes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLog } from '../../../kernel/boot/log.ts';
import { HookRegistry } from '../../../kernel/hooks.ts';
import { type Measured, quartiles, type Row } from '../harness.ts';

const LINES = 10_000;
const MiB = 1 << 20;
const FIELDS = { handle: 'flash', bytes: 4_096, tookMs: 1.5, peer: { app: 'com.example.tea', name: 'tea' } };

/** CPU microseconds a line, with so many secrets looked for; `level` debug is for the recorder alone. */
class Lines implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'dc-bench-'));
  readonly #say: () => void;

  constructor(level: 'info' | 'debug', secrets: number) {
    const limits = { fileBytes: 500 * MiB, totalBytes: 1_000 * MiB };
    const { log, control, scan } = openLog({
      to: join(this.#folder, 'core.log'),
      level: 'info',
      stderr: false,
      limits,
    });
    if (level === 'debug') void control.record({ lines: 2_000, bytes: MiB, perSecond: 1e9 });
    const hooks = new HookRegistry();
    scan.use(hooks.caller('log.line'));
    if (secrets > 0) {
      const words = Array.from({ length: 3 * secrets }, (_, n) => `k7Qz${n}${'w'.repeat(16)}`);
      const wanted = new RegExp(words.join('|'), 'g');
      hooks.tap('log.line', 'bench', (line: string) => line.replace(wanted, '[secret]'), 0);
    }
    this.#say = () => log[level](FIELDS, 'a transfer is done');
  }

  cost(): number {
    const start = process.cpuUsage();
    for (let n = 0; n < LINES; n++) this.#say();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / LINES;
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export const rows: readonly Row[] = [
  {
    id: 100,
    title: 'a line of the log',
    goals: [
      { name: '20 secrets beside none', goal: 1.25 },
      { name: '200 secrets beside none', goal: 1.4 },
      { name: 'for the flight recorder alone', goal: 6, unit: 'us' },
    ],
    async run({ quick }) {
      using works = new DisposableStack();
      const kinds = { none: works.use(new Lines('info', 0)), some: works.use(new Lines('info', 20)) };
      const more = { many: works.use(new Lines('info', 200)), debug: works.use(new Lines('debug', 20)) };
      const all = { ...kinds, ...more };
      const found: Record<keyof typeof all, number[]> = { none: [], some: [], many: [], debug: [] };
      for (const one of Object.values(all)) one.cost();
      for (let round = 0; round < (quick ? 5 : 21); round++)
        for (const name of Object.keys(all) as (keyof typeof all)[]) found[name].push(all[name].cost());
      const us = (values: readonly number[]) => `${quartiles(values).median.toFixed(2)} us`;
      const beside = (values: readonly number[]): Measured => ({
        ...quartiles(values.map((value, at) => value / found.none[at]!)),
        ours: us(values),
        theirs: us(found.none),
      });
      return {
        '20 secrets beside none': beside(found.some),
        '200 secrets beside none': beside(found.many),
        'for the flight recorder alone': quartiles(found.debug),
      };
    },
  },
];
