/** Row 105: what it costs to keep a message until it is sent, beside SQLite without any of the rest. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../../kernel/clock.ts';
import { checkDestination } from '../../../plugins/state/outbox/message.ts';
import { Queue } from '../../../plugins/state/outbox/queue.ts';
import { part } from '../../fixtures/scope.ts';
import { alternate, type Measured, type Row, type RunOptions } from '../harness.ts';

const BODY = 'x'.repeat(300);
const BATCH = 50;
const USUAL = { bytes: 256 * 1024 * 1024, messages: 1_000_000, ageMs: 86_400_000, batch: BATCH };
const MESSAGE = { priority: 'normal', what: 'metrics', body: BODY } as const;

class Place implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'dc-outbox-'));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** One table in the same mode, one statement for each message or transaction. */
function peer(folder: string) {
  const database = new DatabaseSync(join(folder, 'peer.sqlite'));
  database.exec('PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL');
  database.exec('CREATE TABLE message (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT');
  const insert = database.prepare('INSERT INTO message(body) VALUES (?)');
  return { database, insert };
}

/** Microseconds of CPU for each message, and how many times those of the peer. */
async function cost(
  atOnce: number,
  { quick }: RunOptions,
): Promise<{ readonly cpu: Measured; readonly times: Measured }> {
  using place = new Place();
  await using rest = part();
  const destination = checkDestination({ id: 'bench', part: 'bench', to: 'nobody' }, USUAL);
  const file = join(place.path, 'bench.sqlite');
  const queue = await Queue.open({
    file,
    destination,
    owner: 'bench',
    clock: systemClock,
    log: rest.log,
    onPut: () => undefined,
  });
  const { database, insert } = peer(place.path);
  const operations = quick ? 1_000 : 5_000;
  const messages = Array.from({ length: atOnce }, () => MESSAGE);
  const times = await alternate(
    {
      operations,
      load: async () => {
        for (let put = 0; put < operations; put += atOnce) await queue.putAll(messages);
      },
    },
    {
      operations,
      load: () => {
        for (let put = 0; put < operations; put += atOnce) {
          if (atOnce > 1) database.exec('BEGIN');
          for (let one = 0; one < atOnce; one++) insert.run(BODY);
          if (atOnce > 1) database.exec('COMMIT');
        }
      },
    },
    quick ? 5 : 11,
  );
  database.close();
  await queue.close();
  const [median = Number.NaN] = [usOf(times.cpu.ours)];
  const spread = median / times.cpu.median;
  const cpu = {
    q1: times.cpu.q1 * spread,
    median,
    q3: times.cpu.q3 * spread,
    ours: times.cpu.ours!,
    theirs: times.cpu.theirs!,
  };
  return { cpu, times: times.cpu };
}

/** `57.6 us`, `1.2 ms`, as the harness writes it. */
function usOf(text = ''): number {
  const [, number, unit] = /^([\d.e+]+) (ns|us|ms)$/.exec(text) ?? [];
  return Number(number) * { ns: 0.001, us: 1, ms: 1_000 }[unit as 'us']!;
}

export const rows: readonly Row[] = [
  {
    id: 105,
    title: 'Outbox: a message of 300 bytes kept on the disk until it is sent, against an INSERT of SQLite alone (CPU)',
    goals: [
      { name: 'one by one', goal: 60, unit: 'us' },
      { name: 'batches of 50', goal: 12, unit: 'us' },
      { name: 'one by one, times SQLite', goal: 5 },
      { name: 'batches of 50, times SQLite', goal: 4 },
    ],
    run: async (options) => {
      const [one, many] = [await cost(1, options), await cost(BATCH, options)];
      return {
        'one by one': one.cpu,
        'batches of 50': many.cpu,
        'one by one, times SQLite': one.times,
        'batches of 50, times SQLite': many.times,
      };
    },
  },
];
