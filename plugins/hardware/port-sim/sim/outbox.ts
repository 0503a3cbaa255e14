/** Fills the bridge's packets by the rule of cbp.md section 8: control, then the classes in order, inside a class in turn. */
import type { Endpoint } from './endpoint.ts';
import { encodeFrame, TYPE, type WireFrame, words } from './wire-format.ts';

const SMALLEST_TURN = 64;

export class Outbox {
  readonly #classes: Endpoint[][] = [[], [], []];
  readonly #nextInClass = [0, 0, 0];
  readonly #credits = new Map<number, number>();
  readonly #control: WireFrame[] = [];

  constructor(endpoints: readonly Endpoint[]) {
    for (const endpoint of endpoints) this.#classes[endpoint.description.priority - 1]!.push(endpoint);
  }

  get ready(): boolean {
    return this.#credits.size > 0 || this.#control.length > 0 || this.#classes.some(anyReady);
  }

  /** A newer limit takes the place of one that has not left yet. */
  credit(endpoint: number, limit: number): void {
    this.#credits.set(endpoint, limit);
  }

  control(type: number, body: Uint8Array): void {
    this.#control.push({ type, fin: true, endpoint: 0, rid: 0, code: 0, fragment: 0, body });
  }

  clear(): void {
    this.#credits.clear();
    this.#control.length = 0;
    this.#nextInClass.fill(0);
  }

  /** A payload of at most `capacity` bytes. */
  pack(capacity: number): Uint8Array {
    const payload = new Payload(capacity);
    for (const [endpoint, limit] of this.#credits) {
      const frame = { type: TYPE.credit, fin: true, endpoint, rid: 0, code: 0, fragment: 0, body: words(limit) };
      if (!payload.add(encodeFrame(frame))) break;
      this.#credits.delete(endpoint);
    }
    while (this.#control[0] && payload.add(encodeFrame(this.#control[0]))) this.#control.shift();
    const quarter = capacity >> 2;
    this.#classes.forEach((_, index) => {
      const lowerWaits = this.#classes.slice(index + 1).some(anyReady);
      this.#serve(index, payload, payload.free - (lowerWaits ? quarter : 0));
    });
    this.#classes.forEach((_, index) => {
      this.#serve(index, payload, payload.free);
    });
    return payload.bytes();
  }

  /** Rounds over a class until none is served. The next packet begins with the first without room, or else after the last served. */
  #serve(index: number, payload: Payload, share: number): void {
    const members = this.#classes[index]!;
    const turn = Math.max(SMALLEST_TURN, Math.floor(payload.capacity / Math.max(1, members.filter(isReady).length)));
    let left = share;
    for (let served = true; served && left > 0; ) {
      served = false;
      const begin = this.#nextInClass[index]!;
      let hungry: number | undefined;
      for (let step = 0; step < members.length; step++) {
        const position = (begin + step) % members.length;
        const member = members[position]!;
        if (!member.ready) continue;
        const used = takeTurn(member, payload, Math.min(turn, left));
        left -= used;
        served ||= used > 0;
        if (used === 0) hungry ??= position;
        else if (hungry === undefined) this.#nextInClass[index] = (position + 1) % members.length;
      }
      if (hungry !== undefined) this.#nextInClass[index] = hungry;
    }
  }
}

function isReady(endpoint: Endpoint): boolean {
  return endpoint.ready;
}

function anyReady(endpoints: readonly Endpoint[]): boolean {
  return endpoints.some(isReady);
}

function takeTurn(endpoint: Endpoint, payload: Payload, allowance: number): number {
  let used = 0;
  while (used < allowance) {
    const frame = endpoint.cut(Math.min(allowance - used, payload.free));
    if (!frame) break;
    payload.add(frame);
    used += frame.length;
  }
  return used;
}

class Payload {
  readonly capacity: number;
  readonly #frames: Uint8Array[] = [];
  #used = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get free(): number {
    return this.capacity - this.#used;
  }

  add(frame: Uint8Array): boolean {
    if (frame.length > this.free) return false;
    this.#frames.push(frame);
    this.#used += frame.length;
    return true;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#frames);
  }
}
