/** The rows of one queue, in SQLite. All of it is synchronous: the caller bounds the work of one call. */
import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { syncName } from '@device-core/plugin-api/durable';
import { LOSS_LEVEL, type Row } from './message.ts';

export type Victim = Pick<Row, 'id' | 'level' | 'at' | 'bytes'>;
type Aged = Victim & Pick<Row, 'since'>;

export interface Totals {
  readonly count: number;
  readonly bytes: number;
}

/** Numbers are reserved in blocks: a given number is never given again, even after deletions. */
const BLOCK = 1_024;
/** Earliest believable time of a row; an earlier one comes from a device that did not know the time. */
const EPOCH = Date.UTC(2020, 0, 1);

export class Store implements Disposable {
  readonly file: string;
  readonly #database: DatabaseSync;
  readonly #statements: Readonly<Record<keyof typeof SQL, StatementSync>>;
  /** Number of messages by level. */
  readonly counts = [0, 0, 0, 0, 0];
  readonly bytes = [0, 0, 0, 0, 0];
  /** Random text of each file, so that ids of messages differ between files. */
  readonly epoch: string;
  /** Plugin that opened it first; others may not open it. */
  readonly owner: string | undefined;
  /** Receiver of its messages. */
  readonly to: string | undefined;
  #next: number;
  #reserved: number;
  #log: Promise<FileHandle> | undefined;

  /** `now` is a time of the monotonic clock. */
  constructor(file: string, database: DatabaseSync, now: number) {
    this.file = file;
    this.#database = database;
    const statements = Object.entries(SQL).map(([name, text]) => [name, database.prepare(text)]);
    this.#statements = Object.fromEntries(statements) as Record<keyof typeof SQL, StatementSync>;
    const meta = new Map(this.#statements.meta.all().map(({ name, value }) => [name, String(value)]));
    this.epoch = meta.get('epoch') ?? randomBytes(4).toString('hex');
    [this.owner, this.to] = [meta.get('owner'), meta.get('to')];
    this.#next = Number(meta.get('next') ?? 1);
    this.#reserved = this.#next;
    this.transaction(() => {
      if (!meta.has('epoch')) this.#statements.setMeta.run('epoch', this.epoch);
      this.#statements.mend.run(now, now, EPOCH);
    });
    this.#count();
  }

  claim(owner: string, to: string): void {
    if (this.owner === owner && this.to === to) return;
    this.transaction(() => {
      this.#statements.setMeta.run('owner', owner);
      this.#statements.setMeta.run('to', to);
    });
  }

  /** All of them; receipts are no part of what the limits are about. */
  get all(): Totals {
    return { count: total(this.counts), bytes: total(this.bytes) };
  }

  get messages(): Totals {
    return { count: total(this.counts.slice(0, LOSS_LEVEL)), bytes: total(this.bytes.slice(0, LOSS_LEVEL)) };
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
  }

  transaction<T>(work: () => T): T {
    const { begin, commit } = this.#statements;
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      this.#reserved = this.#next; // what was set aside may be undone, too
      this.#count();
      throw error;
    }
  }

  /** A new number, within a transaction. */
  number(): number {
    if (this.#next >= this.#reserved) {
      const reserved = this.#next + BLOCK;
      this.#statements.setMeta.run('next', String(reserved));
      this.#reserved = reserved;
    }
    return this.#next++;
  }

  insert({ id, level, at, since, what, key, body, bytes }: Row): void {
    this.#statements.insert.run(id, level, at, since, what, key, body, bytes);
    this.counts[level]! += 1;
    this.bytes[level]! += bytes;
  }

  /** Other contents of a row that stays where it is. */
  replace({ id, level, at, since, body, bytes }: Omit<Row, 'what' | 'key'>, former: number): void {
    this.#statements.replace.run(at, since, body, bytes, id);
    this.bytes[level]! += bytes - former;
  }

  delete({ id, level, bytes }: Pick<Row, 'id' | 'level' | 'bytes'>): boolean {
    if (this.#statements.delete.run(id).changes === 0) return false;
    this.counts[level]! -= 1;
    this.bytes[level]! -= bytes;
    return true;
  }

  /** The oldest of all, whole, until one is refused. */
  *oldest(): Generator<Row> {
    for (const row of this.#statements.oldest.iterate()) yield row as unknown as Row;
  }

  /** The oldest of a level. Nothing may be written before it is left. */
  *ofLevel(level: number): Generator<Victim> {
    for (const row of this.#statements.ofLevel.iterate(level)) yield row as unknown as Victim;
  }

  ofKey(key: string): readonly Victim[] {
    return this.#statements.ofKey.all(key) as unknown as Victim[];
  }

  /** From before, the oldest of them. */
  before(since: number, limit: number): readonly Victim[] {
    const first = (most: number) => this.#statements.first.all(LOSS_LEVEL, most) as unknown as Aged[];
    const [oldest] = first(1);
    return oldest && oldest.since < since ? first(limit).filter((row) => row.since < since) : [];
  }

  get oldestAt(): number | undefined {
    return this.#statements.oldestAt.get()?.at as number | undefined;
  }

  /** Receipts that are there. */
  losses(): readonly (Victim & { readonly body: string })[] {
    return this.#statements.losses.all(LOSS_LEVEL) as unknown as (Victim & { readonly body: string })[];
  }

  /** Resolves when all writes are on the disk; the wait is not on the event loop. */
  async sync(): Promise<void> {
    this.#log ??= this.#openLog();
    await (await this.#log).datasync();
  }

  /** SQLite syncs the name of this file with its first checkpoint, which may be long after the first put. */
  async #openLog(): Promise<FileHandle> {
    const file = `${this.file}-wal`;
    const log = await open(file, 'r');
    await syncName(file);
    return log;
  }

  async end(): Promise<void> {
    const log = await this.#log?.catch(() => undefined);
    await log?.close();
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    if (this.#database.isOpen) this.#database.close();
  }

  #count(): void {
    this.counts.fill(0);
    this.bytes.fill(0);
    for (const { level, count, bytes } of this.#statements.sums.all()) {
      this.counts[Number(level)] = Number(count);
      this.bytes[Number(level)] = Number(bytes);
    }
  }
}

const SQL = {
  begin: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  meta: 'SELECT name, value FROM meta',
  setMeta: 'INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
  mend: 'UPDATE message SET since = ? WHERE since > ? OR since < ?',
  sums: 'SELECT level, count(*) AS count, sum(bytes) AS bytes FROM message GROUP BY level',
  insert: 'INSERT INTO message(id, level, at, since, what, key, body, bytes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  replace: 'UPDATE message SET at = ?, since = ?, body = ?, bytes = ? WHERE id = ?',
  delete: 'DELETE FROM message WHERE id = ?',
  oldest: 'SELECT id, level, at, since, what, key, body, bytes FROM message ORDER BY id',
  ofLevel: 'SELECT id, level, at, bytes FROM message WHERE level = ? ORDER BY id',
  ofKey: 'SELECT id, level, at, bytes FROM message WHERE key = ?',
  first: 'SELECT id, level, at, since, bytes FROM message WHERE level <> ? ORDER BY id LIMIT ?',
  oldestAt: 'SELECT at FROM message ORDER BY id LIMIT 1',
  losses: 'SELECT id, level, at, bytes, body FROM message WHERE level = ? ORDER BY id',
} as const;

const total = (numbers: readonly number[]): number => numbers.reduce((sum, one) => sum + one, 0);
