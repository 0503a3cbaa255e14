/** A started outbox, a ledger that remembers, and a receiver that does what it is told. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@device-core/plugin-api';
import { type Departure, type DeparturesLedger, ledger } from '@device-core/plugin-api/inside/services/ledger';
import {
  type Destination,
  type Outgoing,
  outbox,
  type Queued,
  type Sent,
} from '@device-core/plugin-api/inside/services/outbox';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, type GivenService, given, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/state/outbox/index.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/state/outbox.yaml');
export const DESTINATION: Destination = { id: 'telemetry', part: 'telemetry', to: 'collector.example:443' };

export const message = (body: string, more: Partial<Outgoing> = {}): Outgoing => ({
  priority: 'normal',
  what: 'metrics',
  body,
  ...more,
});

/** What was written down, and the bytes that were counted since. */
export class BookKeeper {
  readonly lines: (Departure & { readonly counted: number[] })[] = [];
  refusal: Error | undefined;
  /** A line is written when this is over. */
  until: Promise<void> | undefined;

  readonly service: GivenService = given(ledger, {
    write: async (departure: Departure) => {
      await this.until;
      if (this.refusal) throw this.refusal;
      this.lines.push({ ...departure, counted: [] });
      return String(this.lines.length - 1);
    },
    count: async (id: string, bytes: number) => void this.lines[Number(id)]?.counted.push(bytes),
  } satisfies Partial<DeparturesLedger>);
}

/** The other side: answers with what is next in its list, and takes everything when that is at its end. */
export class Receiver {
  readonly batches: (readonly Queued[])[] = [];
  readonly answers: (Sent | Error | ((batch: readonly Queued[], signal: AbortSignal) => Promise<Sent>))[] = [];
  /** Nothing is taken until this is false. */
  away = false;

  readonly send = async (batch: readonly Queued[], signal: AbortSignal): Promise<Sent> => {
    this.batches.push(batch);
    const answer = this.answers.shift();
    if (answer instanceof Error) throw answer;
    if (typeof answer === 'function') return answer(batch, signal);
    return answer ?? (this.away ? { outcome: 'later', reason: 'nobody is there' } : { outcome: 'taken' });
  };

  get bodies(): readonly string[] {
    return this.batches.flat().map(({ body }) => body);
  }
}

export interface StartOptions {
  readonly config?: object;
  readonly clock?: Clock;
  readonly withoutLedger?: boolean;
}

export async function start({ config = {}, clock, withoutLedger }: StartOptions = {}) {
  const table = new TestOperations();
  const book = new BookKeeper();
  const services: GivenService[] = [[operations, table], ...(withoutLedger ? [] : [book.service])];
  const host = await createTestHost(plugin, { manifest: MANIFEST, config, services, ...(clock && { clock }) });
  const as = (name: string) => host.serviceFor(outbox, { plugin: name });
  return { host, table, book, as, service: as('telemetry'), folder: join(host.device.paths.var, 'outbox') };
}

/** In memory where that can be: what is laid out again and again need not go to a disk. */
export function temporaryFolder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'dc-outbox-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
