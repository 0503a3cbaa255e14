/** Readers by name: polled in turn, asked one thing after the other, arrivals and removals told. */
import { CoreError, maybe, reasonOf, steadyMs } from '@device-core/plugin-api';
import type {
  NdefRecord,
  Nfc,
  NfcOptions,
  NfcReaderInfo,
  NfcSource,
  NfcTag,
} from '@device-core/plugin-api/services/nfc';
import { decodeNdef, encodeNdef } from './ndef.ts';

const NAME = /^[a-z][a-z0-9-]{0,31}$/;
const MOST_WAITING = 16;

interface Reader {
  readonly name: string;
  readonly chip: string;
  readonly owner: string;
  readonly source: NfcSource;
  tag: NfcTag | undefined;
  problem: string | undefined;
  /** It is not the reader that fails: there is nothing to ask it through yet. */
  waits: boolean;
  last: Promise<unknown>;
  waiting: number;
}

export type TagNews = (reader: string, tag: NfcTag, state: 'arrived' | 'removed') => void;

export class Readers implements Nfc {
  readonly #readers = new Map<string, Reader>();
  readonly #news: TagNews;

  constructor(news: TagNews) {
    this.#news = news;
  }

  register(
    { name, chip }: { readonly name: string; readonly chip: string },
    source: NfcSource,
    owner: string,
  ): AsyncDisposable {
    const refuse = (reason: string) => {
      throw new CoreError('PARAMS_INVALID', { where: 'name', reason });
    };
    if (!NAME.test(name)) refuse(`${name} is no name of a reader: ${NAME.source}`);
    if (this.#readers.has(name)) refuse(`there is a reader ${name} already`);
    const reader: Reader = {
      name,
      chip,
      owner,
      source,
      tag: undefined,
      problem: undefined,
      waits: false,
      last: Promise.resolve(),
      waiting: 0,
    };
    this.#readers.set(name, reader);
    return {
      [Symbol.asyncDispose]: async () => {
        if (this.#readers.get(name) !== reader) return;
        this.#readers.delete(name);
        this.#becomes(reader, undefined);
      },
    };
  }

  async readers(): Promise<readonly NfcReaderInfo[]> {
    return [...this.#readers.values()].map(({ name, chip, owner, tag, problem }) => ({
      name,
      chip,
      owner,
      ...maybe({ tag, problem }),
    }));
  }

  get troubled(): readonly { readonly name: string; readonly problem: string; readonly waits: boolean }[] {
    return [...this.#readers.values()].flatMap(({ name, problem, waits }) =>
      problem === undefined ? [] : [{ name, problem, waits }],
    );
  }

  get size(): number {
    return this.#readers.size;
  }

  /** Polls every reader; `troubled` reports failures. */
  async look(): Promise<void> {
    const deadline = steadyMs() + 2_000;
    await Promise.all([...this.#readers.keys()].map((name) => this.poll(name, { deadline }).catch(() => undefined)));
  }

  poll(name?: string, options: NfcOptions = {}): Promise<NfcTag | undefined> {
    return this.#alone(this.#find(name), (reader) => this.#poll(reader, options));
  }

  read(
    name?: string,
    options: NfcOptions = {},
  ): Promise<{ readonly tag: NfcTag; readonly records: readonly NdefRecord[] }> {
    return this.#alone(this.#find(name), async (reader) => {
      const tag = await this.#there(reader, options);
      return { tag, records: decodeNdef(await reader.source.read(tag, options)) };
    });
  }

  write(records: readonly NdefRecord[], name?: string, options: NfcOptions = {}): Promise<NfcTag> {
    const message = encodeNdef(records);
    return this.#alone(this.#find(name), async (reader) => {
      const tag = await this.#there(reader, options);
      await reader.source.write(tag, message, options);
      return tag;
    });
  }

  async #there(reader: Reader, options: NfcOptions): Promise<NfcTag> {
    const tag = await this.#poll(reader, options);
    if (!tag) throw new CoreError('TAG_NOT_FOUND', { reader: reader.name });
    if (tag.technology !== 'nfc-forum-type-2')
      throw new CoreError('TAG_FAILED', {
        verb: 'use',
        reason: `it is no NFC Forum Type 2 tag (SAK 0x${tag.sak.toString(16)})`,
      });
    return tag;
  }

  async #poll(reader: Reader, options: NfcOptions): Promise<NfcTag | undefined> {
    try {
      const tag = await reader.source.poll(options);
      reader.problem = undefined;
      this.#becomes(reader, tag);
      return tag;
    } catch (error) {
      reader.problem = reasonOf(error);
      reader.waits = error instanceof CoreError && error.code === 'NOT_INITIALIZED';
      this.#becomes(reader, undefined);
      throw error;
    }
  }

  #becomes(reader: Reader, tag: NfcTag | undefined): void {
    const former = reader.tag;
    reader.tag = tag;
    if (former?.uid === tag?.uid) return;
    if (former) this.#news(reader.name, former, 'removed');
    if (tag) this.#news(reader.name, tag, 'arrived');
  }

  #find(name: string | undefined): Reader {
    const only = this.#readers.size === 1 ? [...this.#readers.values()][0] : undefined;
    const reader = name === undefined ? only : this.#readers.get(name);
    if (reader) return reader;
    throw new CoreError('READER_NOT_FOUND', { reader: name ?? `by default; there are ${this.#readers.size}` });
  }

  async #alone<T>(reader: Reader, work: (reader: Reader) => Promise<T>): Promise<T> {
    if (reader.waiting >= MOST_WAITING)
      throw new CoreError('BUSY', { what: `NFC reader ${reader.name}`, limit: MOST_WAITING });
    reader.waiting++;
    const mine = reader.last.then(() => work(reader));
    reader.last = mine.catch(() => undefined);
    return mine.finally(() => {
      reader.waiting--;
    });
  }
}
