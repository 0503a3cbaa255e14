/** A Type 2 tag in the manner of the NTAG213: pages of four bytes, one-time container, lock bits. */
export class TypeTwo {
  readonly uid: readonly number[];
  readonly atqa: number;
  readonly sak: number;
  readonly #memory: Uint8Array;

  constructor(options: Readonly<Record<string, unknown>>) {
    const { uid = '04a1b2c3d4e5f6', size = 144, locked = false, ndef = '', atqa = 0x0044, sak = 0 } = options;
    this.uid = [...Buffer.from(String(uid), 'hex')];
    this.atqa = Number(atqa);
    this.sak = Number(sak);
    this.#memory = new Uint8Array(16 + Number(size) + 20);
    this.#memory.set([0xe1, 0x10, Number(size) / 8, locked ? 0x0f : 0], 12);
    const message = Buffer.from(String(ndef), 'hex');
    this.#memory.set([0x03, message.length, ...message, 0xfe], 16);
    if (locked) this.#memory.set([0xff, 0xff], 10);
  }

  /** Its number, and the message that lies on it. */
  get view(): { readonly uid: string; readonly locked: boolean; readonly ndef: string } {
    const length = this.#memory[16] === 0x03 ? this.#memory[17]! : 0;
    const ndef = Buffer.from(this.#memory.subarray(18, 18 + length)).toString('hex');
    return { uid: Buffer.from(this.uid).toString('hex'), locked: this.#memory[10] !== 0, ndef };
  }

  read(page: number): Uint8Array | undefined {
    if (page * 4 >= this.#memory.length) return undefined;
    return Uint8Array.from({ length: 16 }, (_, index) => this.#memory[(page * 4 + index) % this.#memory.length]!);
  }

  write(page: number, bytes: readonly number[]): boolean {
    const locked = this.#memory[10] !== 0;
    if (locked || page < 4 || page * 4 + 4 > this.#memory.length) return false;
    this.#memory.set(bytes, page * 4);
    return true;
  }
}
