import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type {
  Departure,
  DepartureLine,
  DepartureSum,
  DeparturesLedger,
} from '@device-core/plugin-api/inside/services/ledger';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { PartFile } from './part-file.ts';
import { Sums } from './sums.ts';

export interface DeparturesOptions {
  readonly scope: Scope;
  readonly log: Logger;
  /** One file for each part lies here, so that no part pushes out what another wrote. */
  readonly folder: string;
  /** Departures that are kept of each part. */
  readonly keep: number;
  /** Milliseconds until counted bytes are written. */
  readonly flushMs: number;
  /** Files from before, by part. */
  readonly former: Readonly<Record<string, string>>;
}

const PART = /^[a-z][a-z0-9-]{0,31}$/;
const FILE = /^([a-z][a-z0-9-]{0,31})\.jsonl$/;
/** Parts are written by people, not by apps: more are a mistake. */
const MOST_PARTS = 16;
const MOST_RECEIVERS = 10_000;
const DETAILS_BYTES = 2_048;
const TEXT = 1_024;

export class Departures implements DeparturesLedger {
  readonly #options: DeparturesOptions;
  readonly #parts = new Map<string, Promise<PartFile>>();
  /** Departures whose bytes are counted, the part of each. */
  readonly #partOf = new Map<string, string>();

  constructor(options: DeparturesOptions) {
    this.#options = options;
    options.scope.defer('bytes that left', () => this.#flush());
  }

  /** Loads the ledgers of former runs. */
  async load(): Promise<void> {
    const { folder, former, log } = this.#options;
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') log.error({ folder, reason: reasonOf(error) }, 'cannot look for ledgers');
      return [];
    });
    const there = names.flatMap((name) => FILE.exec(name)?.[1] ?? []).slice(0, MOST_PARTS);
    await Promise.all([...new Set([...there, ...Object.keys(former)])].map((part) => this.#part(part)));
  }

  async write({ part, ...departure }: Departure): Promise<string> {
    check({ part, ...departure });
    const id = randomUUID();
    const file = await this.#part(part);
    await file.append({ id, at: this.#options.scope.clock.now(), ...departure });
    this.#partOf.set(id, part);
    if (this.#partOf.size > 2 * MOST_PARTS * this.#options.keep) this.#partOf.delete(this.#partOf.keys().next().value!);
    return id;
  }

  async count(id: string, bytes: number): Promise<void> {
    const part = this.#partOf.get(id);
    if (part === undefined || !(bytes > 0)) return;
    const first = (await this.#part(part)).count(id, bytes);
    if (first) this.#options.scope.timeout('bytes that left', this.#options.flushMs, () => this.#flush());
  }

  async list({ part, for: sender, limit }: Parameters<DeparturesLedger['list']>[0]): Promise<readonly DepartureLine[]> {
    const parts = part === undefined ? [...this.#parts.keys()] : [part].filter((one) => this.#parts.has(one));
    const lists = await Promise.all(
      parts.map(async (one) => {
        const newest = (await this.#part(one)).newest(limit, sender);
        return newest.map((line) => ({ ...line, part: one }));
      }),
    );
    const [only] = lists;
    if (only && lists.length === 1) return only; // in the order of writing, even if the clock was set
    return lists
      .flat()
      .sort((one, other) => other.at - one.at)
      .slice(0, limit);
  }

  async sums(): Promise<readonly DepartureSum[]> {
    const sums = new Sums(MOST_RECEIVERS);
    for (const file of await Promise.all(this.#parts.values())) file.addTo(sums);
    return sums.all();
  }

  async tell(report: HealthReport): Promise<void> {
    for (const [part, file] of this.#parts) await (await file).tell(part, report);
  }

  #part(part: string): Promise<PartFile> {
    const { folder, keep, former, log } = this.#options;
    const known = this.#parts.get(part);
    if (known) return known;
    const open = async () => {
      const from = former[part];
      const file = new PartFile({ file: join(folder, `${part}.jsonl`), keep, ...(from && { former: from }) });
      await file.load();
      if (file.broken > 0) log.warn({ part, lines: file.broken }, 'lines of the ledger were broken, and left out');
      if (file.damage !== undefined) log.error({ file: file.file }, file.damage);
      return file;
    };
    if (this.#parts.size >= MOST_PARTS) throw refused('part', `there are ${MOST_PARTS} already`);
    const opened = open();
    this.#parts.set(part, opened);
    return opened;
  }

  async #flush(): Promise<void> {
    const files = await Promise.all(this.#parts.values());
    const outcomes = await Promise.allSettled(files.map((file) => file.flush()));
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        this.#options.log.warn({ reason: reasonOf(outcome.reason) }, 'bytes that left are not written down yet');
  }
}

function check({ part, for: sender, to, what, bytes, details }: Departure): void {
  if (!PART.test(part)) throw refused('part', `"${part}" does not fit ${PART}`);
  for (const [name, text] of Object.entries({ for: sender, to, what }))
    if (typeof text !== 'string' || text === '' || text.length > TEXT)
      throw refused(name, `it has no text, or more than ${TEXT} characters`);
  if (bytes !== undefined && !(Number.isSafeInteger(bytes) && bytes >= 0)) throw refused('bytes', 'it is no count');
  if (details !== undefined && Buffer.byteLength(JSON.stringify(details)) > DETAILS_BYTES)
    throw refused('details', `it has more than ${DETAILS_BYTES} bytes`);
}

const refused = (member: string, reason: string) => new CoreError('PARAMS_INVALID', { where: member, reason });
