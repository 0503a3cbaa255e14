/** NFC Forum Type 2 tags: capability container, TLV blocks, pages of four bytes. */
import { CoreError } from '@device-core/plugin-api';
import { saysExecuted } from '@device-core/plugin-api/buses';
import type { NfcOptions } from '@device-core/plugin-api/services/nfc';
import type { Pn532 } from './chip.ts';

const READ = 0x30;
const WRITE = 0xa2;
const PAGE = 4;
const READ_PAGES = 4;
const CONTAINER_PAGE = 3;
const DATA_PAGE = 4;
const MAGIC = 0xe1;
const TLV = { none: 0x00, message: 0x03, end: 0xfe } as const;
const LONG = 0xff;

interface Area {
  readonly bytes: number;
  readonly writable: boolean;
}

interface Found {
  /** Offset of the TLV block, from the beginning of the data area. */
  readonly at: number;
  /** Undefined where there is none: the place is where one can begin. */
  readonly message: Uint8Array | undefined;
}

export class Type2Tag {
  readonly #chip: Pn532;
  readonly #options: NfcOptions;
  readonly #verb: string;

  constructor(chip: Pn532, verb: 'read' | 'write', options: NfcOptions) {
    this.#chip = chip;
    this.#verb = verb;
    this.#options = options;
  }

  async read(): Promise<Uint8Array> {
    const { message } = await this.#find(await this.#area());
    return message ?? new Uint8Array(0);
  }

  /** Writes the length 0 first and the real length last: a tag that is taken away in between is empty. */
  async write(message: Uint8Array): Promise<void> {
    const area = await this.#area();
    if (!area.writable) this.#fail('it is locked');
    const { at } = await this.#find(area);
    const long = message.length >= LONG;
    const head = long ? [TLV.message, LONG, message.length >> 8, message.length & 0xff] : [TLV.message, message.length];
    const room = area.bytes - at - head.length;
    if (message.length > room)
      this.#fail(`it has room for ${Math.max(0, room)} bytes, the message has ${message.length}`);
    const end = at + head.length + message.length < area.bytes ? [TLV.end] : [];
    const block = Buffer.from([...head, ...message, ...end]);
    const empty = Buffer.from(block);
    empty.fill(0, 1, head.length);
    const begin = Math.floor(at / PAGE) * PAGE;
    const before = await this.#bytes(begin, at - begin);
    const whole = (content: Buffer) => {
      const padded = Buffer.alloc(Math.ceil((at - begin + content.length) / PAGE) * PAGE);
      padded.set(before);
      padded.set(content, at - begin);
      return padded;
    };
    const headPages = Math.ceil((at - begin + head.length) / PAGE);
    const blank = whole(empty);
    const full = whole(block);
    let written = 0;
    const put = async (page: number, from: Buffer) => {
      await this.#put(begin / PAGE + page, from.subarray(page * PAGE, (page + 1) * PAGE));
      written++;
    };
    try {
      // The length stands in the first pages: they are blank until all behind them is there.
      for (let page = 0; page < headPages; page++) await put(page, blank);
      for (let page = headPages; page < full.length / PAGE; page++) await put(page, full);
      for (let page = headPages - 1; page >= 0; page--) await put(page, full);
    } catch (error) {
      throw written > 0 ? saysExecuted(error, 'yes') : error;
    }
  }

  async #area(): Promise<Area> {
    const pages = await this.#chip.exchange(this.#verb, [READ, CONTAINER_PAGE], READ_PAGES * PAGE, this.#options);
    const [magic, version = 0, size = 0, access = 0] = pages;
    if (magic !== MAGIC || version >> 4 !== 1) this.#fail('it is not formatted for NDEF');
    return { bytes: size * 8, writable: (access & 0x0f) === 0 };
  }

  async #find(area: Area): Promise<Found> {
    let at = 0;
    while (at < area.bytes) {
      const [type = TLV.end, first = 0] = await this.#bytes(at, Math.min(2, area.bytes - at));
      if (type === TLV.none) at++;
      else if (type === TLV.end) return { at, message: undefined };
      else {
        const long = first === LONG;
        const length = long ? Buffer.from(await this.#bytes(at + 2, 2)).readUInt16BE() : first;
        const head = long ? 4 : 2;
        if (at + head + length > area.bytes) this.#fail('its blocks are longer than the tag');
        if (type === TLV.message) return { at, message: await this.#bytes(at + head, length) };
        at += head + length;
      }
    }
    return { at: Math.min(at, area.bytes), message: undefined };
  }

  readonly #cache = new Map<number, Uint8Array>();

  async #bytes(from: number, length: number): Promise<Uint8Array> {
    const out = new Uint8Array(length);
    const chunk = READ_PAGES * PAGE;
    for (let at = from; at < from + length; ) {
      const start = Math.floor(at / chunk) * chunk;
      let bytes = this.#cache.get(start);
      if (!bytes) {
        bytes = await this.#chip.exchange(this.#verb, [READ, DATA_PAGE + start / PAGE], chunk, this.#options);
        if (bytes.length < chunk) this.#fail('it answers too little');
        this.#cache.set(start, bytes);
      }
      const part = bytes.subarray(at - start, Math.min(chunk, at - start + from + length - at));
      out.set(part, at - from);
      at += part.length;
    }
    return out;
  }

  async #put(page: number, bytes: Uint8Array): Promise<void> {
    await this.#chip.exchange(this.#verb, [WRITE, DATA_PAGE + page, ...bytes], 0, this.#options);
  }

  #fail(reason: string): never {
    throw new CoreError('TAG_FAILED', { verb: this.#verb, reason });
  }
}
