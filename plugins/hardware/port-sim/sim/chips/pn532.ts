/** A PN532 at frame level, with the tags that a test or a script lays on it. Written from the user manual, apart from the driver. */
import type { I2cTarget } from '../i2c-target.ts';
import type { ChipSurroundings, ScriptedChip } from './chip.ts';
import { TypeTwo } from './type-two.ts';

const PREAMBLE = [0, 0, 0xff];
const ACKNOWLEDGE = [...PREAMBLE, 0, 0xff, 0];
const SYNTAX_ERROR = [...PREAMBLE, 1, 0xff, 0x7f, 0x81, 0];
const WORK_MS = 3;
const SEARCH_MS = 10;
const NO_ANSWER = 0x01;
const REFUSED = 0x14;

export class Pn532Chip implements I2cTarget, ScriptedChip {
  readonly kind = 'pn532';
  readonly address: number;
  readonly #surroundings: ChipSurroundings;
  #incoming: number[] = [];
  #outgoing: number[][] = [];
  #at = -1;
  #readyAt = 0;
  #tag: TypeTwo | undefined;
  #selected = false;
  #configured = false;
  /** Fault: the tag is taken away after so many more writes. */
  #writesLeft = Number.POSITIVE_INFINITY;

  constructor(surroundings: ChipSurroundings) {
    this.#surroundings = surroundings;
    this.address = surroundings.address;
  }

  /** `{tag: {uid, size?, locked?, ndef?: hex} | null}`, `{removeAfterWrites: n}`. */
  change(change: Readonly<Record<string, unknown>>): void {
    if ('tag' in change) {
      this.#tag = change.tag === null ? undefined : new TypeTwo(Object(change.tag));
      this.#selected = false;
    } else if (typeof change.removeAfterWrites === 'number') this.#writesLeft = change.removeAfterWrites;
    else throw new Error('a PN532 takes a tag, or removeAfterWrites');
  }

  get senses(): object {
    return { tag: this.#tag?.view ?? null };
  }

  reset(): void {
    this.#incoming = [];
    this.#outgoing = [];
    this.#selected = false;
    this.#configured = false;
  }

  begin(direction: 'write' | 'read'): boolean {
    this.#incoming = [];
    this.#at = -1;
    return direction === 'read' || direction === 'write';
  }

  write(byte: number): boolean {
    this.#incoming.push(byte);
    return true;
  }

  read(): number {
    const frame = this.#outgoing[0];
    if (this.#at < 0) {
      const ready = frame !== undefined && this.#surroundings.clock.now() >= this.#readyAt;
      this.#at = ready ? 0 : Number.MAX_SAFE_INTEGER;
      return ready ? 1 : 0;
    }
    const byte = this.#at < Number.MAX_SAFE_INTEGER ? frame?.[this.#at++] : undefined;
    return byte ?? 0;
  }

  end(): void {
    if (this.#incoming.length > 0) this.#take(this.#incoming);
    else if (this.#at > 0 && this.#at < Number.MAX_SAFE_INTEGER) {
      this.#outgoing.shift();
      this.#readyAt = this.#surroundings.clock.now() + WORK_MS;
    }
    this.#incoming = [];
    this.#at = -1;
  }

  #take(bytes: readonly number[]): void {
    const start = bytes.findIndex((byte, index) => byte === 0 && bytes[index + 1] === 0xff);
    const length = bytes[start + 2] ?? 0;
    const body = bytes.slice(start + 4, start + 4 + length);
    const sum = body.reduce((total, byte) => total + byte, bytes[start + 4 + length] ?? 0) & 0xff;
    if (start < 0 || ((length + (bytes[start + 3] ?? 0)) & 0xff) !== 0 || sum !== 0 || body[0] !== 0xd4) return;
    const [, command = 0, ...parameters] = body;
    const answer = this.#run(command, parameters);
    this.#outgoing = [ACKNOWLEDGE, answer ? frame([0xd5, command + 1, ...answer]) : SYNTAX_ERROR];
    this.#readyAt = this.#surroundings.clock.now() + (command === 0x4a ? SEARCH_MS : WORK_MS);
  }

  #run(command: number, parameters: readonly number[]): readonly number[] | undefined {
    switch (command) {
      case 0x02:
        return [0x32, 1, 6, 7];
      case 0x14:
        this.#configured = parameters[0] === 1;
        return [];
      case 0x32:
      case 0x52:
        return [];
      case 0x4a:
        return this.#list();
      case 0x40:
        return this.#exchange(parameters.slice(1));
      default:
        return undefined;
    }
  }

  #list(): readonly number[] {
    this.#selected = this.#tag !== undefined && this.#configured;
    if (!this.#tag || !this.#configured) return [0];
    const { uid, atqa, sak } = this.#tag;
    return [1, 1, atqa >> 8, atqa & 255, sak, uid.length, ...uid];
  }

  #exchange([order = 0, page = 0, ...data]: readonly number[]): readonly number[] {
    if (!this.#selected || !this.#tag) return [NO_ANSWER];
    if (order === 0x30) {
      const bytes = this.#tag.read(page);
      return bytes ? [0, ...bytes] : [REFUSED];
    }
    if (order !== 0xa2 || data.length !== 4) return [REFUSED];
    if (this.#writesLeft-- <= 0) {
      this.#writesLeft = Number.POSITIVE_INFINITY;
      this.#selected = false;
      return [NO_ANSWER];
    }
    return this.#tag.write(page, data) ? [0] : [REFUSED];
  }
}

function frame(body: readonly number[]): number[] {
  const sum = body.reduce((total, byte) => total + byte, 0);
  return [...PREAMBLE, body.length, -body.length & 255, ...body, -sum & 255, 0];
}
