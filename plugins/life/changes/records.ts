/** The records on the disk: each in a file of its own, so many of those that are over. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type CoreError, type Logger, newerForm, reasonOf } from '@device-core/plugin-api';
import { makeFolder, readState, replaceFile, setAside, sweepLeftovers } from '@device-core/plugin-api/durable';
import type { ChangeInfo } from '@device-core/plugin-api/inside/services/changes';
import { type ChangeRecord, FORM, isOver, parseRecord, viewOf } from './record.ts';

export class Records {
  readonly #folder: string;
  readonly #most: number;
  readonly #log: Logger;
  readonly #all = new Map<string, ChangeRecord>();
  /** Views of each change: the form that the disk has, or has refused. */
  readonly #views = new Map<string, ChangeInfo>();
  #last = 0;
  /** A newer Core wrote some of them: they are left alone. */
  newer: CoreError | undefined;

  constructor(folder: string, most: number, log: Logger) {
    this.#folder = folder;
    this.#most = most;
    this.#log = log;
  }

  /** Reads what a former run left. What is damaged is set aside and told in the log: the change is as good as forgotten. */
  async open(): Promise<void> {
    await makeFolder(this.#folder);
    for (const name of await readdir(this.#folder)) {
      const id = /^(\d{1,15})\.json$/.exec(name)?.[1];
      if (id === undefined) continue;
      this.#last = Math.max(this.#last, Number(id));
      const file = join(this.#folder, name);
      try {
        const found = JSON.parse((await readState(file)) ?? '');
        const newer = newerForm(file, found?.format, FORM);
        this.newer ??= newer;
        const record = newer ? undefined : parseRecord(id, found);
        if (record) {
          this.#all.set(id, record);
          this.#views.set(id, viewOf(record));
        } else if (!newer) throw new Error('it does not hold the written bytes');
      } catch (error) {
        this.#log.warn({ file, reason: reasonOf(error) }, 'the record of a change is damaged and was set aside');
        await setAside(file);
      }
    }
    for (const name of await readdir(this.#folder))
      if (name.endsWith('.tmp')) await sweepLeftovers(join(this.#folder, name.slice(0, name.indexOf('.json') + 5)));
  }

  nextId(): string {
    this.#last += 1;
    return String(this.#last);
  }

  get(id: string): ChangeRecord | undefined {
    return this.#all.get(id);
  }

  view(id: string): ChangeInfo | undefined {
    return this.#views.get(id);
  }

  /** The newest first. */
  list(): readonly ChangeRecord[] {
    return [...this.#all.values()].sort((a, b) => Number(b.id) - Number(a.id));
  }

  /** Durable when it resolves. Throws the codes of a disk. */
  async save(record: ChangeRecord): Promise<void> {
    try {
      await replaceFile(join(this.#folder, `${record.id}.json`), `${JSON.stringify(record)}\n`);
      this.#all.set(record.id, record);
    } finally {
      if (this.#all.has(record.id)) this.#views.set(record.id, viewOf(record));
    }
  }

  /** Forgets the oldest of those that are over. */
  async prune(): Promise<void> {
    for (const { id } of this.list().filter(isOver).slice(this.#most)) {
      this.#all.delete(id);
      this.#views.delete(id);
      await rm(join(this.#folder, `${id}.json`), { force: true });
    }
  }
}
