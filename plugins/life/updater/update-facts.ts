/** Facts that the rules of updates ask for, and their sources. */
import type { SlotsStatus } from '@device-core/plugin-api/inside/services/slots';
import { ownId } from './device-id.ts';
import { type Fetching, needSlots, toFetch } from './fetching.ts';
import type { Parts } from './parts.ts';
import type { Facts } from './policy.ts';
import type { Blob } from './repository.ts';

export class UpdateFacts {
  readonly #parts: Parts;
  #device: string | undefined;
  #status: SlotsStatus | undefined;
  /** Missing blobs of the wanted image, as its source and the slots told. */
  #missing: readonly Blob[] | undefined;
  #compressed: ReadonlyMap<string, number> = new Map();
  #fetch: Fetching | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Sizes of compressed blobs of the source, by hash. */
  get compressed(): ReadonlyMap<string, number> {
    return this.#compressed;
  }

  get knowsSlots(): boolean {
    return this.#status !== undefined;
  }

  /** A source has another image. */
  found(missing: readonly Blob[] | undefined, compressed: ReadonlyMap<string, number>): void {
    this.#missing = missing;
    this.#compressed = compressed;
    this.#fetch = undefined;
  }

  /** Asks the slots for the missing blobs of the wanted image. */
  async inspect(verb: string): Promise<readonly Blob[]> {
    this.#missing = (await needSlots(this.#parts, verb).inspect(this.#parts.folder)).missing;
    return this.#missing;
  }

  /** Throws SLOTS_UNAVAILABLE where no plugin provides slots, and what `Slots.status` throws. */
  async slots(): Promise<SlotsStatus> {
    this.#status = await needSlots(this.#parts, 'look at the slots').status();
    return this.#status;
  }

  async read(): Promise<Facts> {
    const { config, journal, clock, services, senses, leases } = this.#parts;
    const running = this.#status?.slots.find(({ booted }) => booted);
    const provider = this.#status?.provider;
    return {
      config,
      record: journal.record,
      wanted: journal.record.wanted,
      now: clock.now(),
      slots: provider === undefined ? (services.slots ? 'unknown' : 'none') : provider === 'none' ? 'none' : 'there',
      running: running?.version,
      floor: this.#status?.floor.version,
      device: await this.#id(),
      network: senses.network,
      power: senses.power,
      time: senses.time,
      turn: senses.turn,
      leases: leases.list(),
      fetch: this.#fetch,
    };
  }

  /** Bytes that will really travel; undefined where nothing is to be fetched. */
  async toFetch(): Promise<number | undefined> {
    await this.measure().catch(() => undefined); // the rules say what is wrong
    return this.#parts.journal.record.state === 'available' ? this.#fetch?.bytes : undefined;
  }

  async measure(): Promise<void> {
    const { journal } = this.#parts;
    const { wanted, state } = journal.record;
    if (!wanted || state !== 'available') return;
    const missing = this.#missing ?? (await this.inspect('measure the update'));
    this.#fetch = await toFetch(this.#parts, missing, this.#compressed);
  }

  async #id(): Promise<string> {
    this.#device ??= await ownId(this.#parts);
    return this.#device;
  }
}
