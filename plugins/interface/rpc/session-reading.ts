/** Reading from an app: paused while it does not read its answers, and after its share of a turn of the event loop. */
import type { Socket } from 'node:net';
import type { LoopShare } from '../shared/loop-share.ts';
import type { LoopTurns } from '../shared/loop-turns.ts';
import type { FrameReader } from './frame-reader.ts';
import type { Outgoing } from './outgoing.ts';

export interface ReadingParts {
  readonly reader: FrameReader;
  readonly socket: Socket;
  readonly outgoing: Outgoing;
  readonly share: LoopShare;
  readonly turns: LoopTurns;
  readonly isClosed: () => boolean;
  /** Called when reading goes on after a pause. */
  readonly readOn: () => void;
}

export class SessionReading {
  readonly #parts: ReadingParts;
  #full = false;
  #yielding = false;
  /** Messages read in this turn. */
  #burst = 0;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
  }

  get isPaused(): boolean {
    return this.#full || this.#yielding;
  }

  take(chunk: Buffer): void {
    const { share, reader, turns } = this.#parts;
    if (share.owedMs > 0) this.#yield();
    this.#burst = 0;
    const read = () => {
      reader.push(chunk);
      return this.#burst;
    };
    turns.read(share, chunk.length, read, () => this.#yield());
  }

  count(messages: number): void {
    this.#burst += messages;
    if (this.#burst >= this.#parts.share.most) this.#yield();
  }

  /** The outgoing queue may have room again. */
  room(): void {
    if (!this.#full || this.#parts.outgoing.full) return;
    this.#full = false;
    this.#readOn();
  }

  /** The app does not read its answers: nor do we read its requests. */
  pauseIfFull(): void {
    if (this.#full || !this.#parts.outgoing.full) return;
    this.#full = true;
    this.#pauseReading();
  }

  /** Others come first. */
  #yield(): void {
    if (this.#yielding || this.#parts.isClosed()) return;
    this.#yielding = true;
    this.#pauseReading();
    this.#parts.turns.wait(this.#parts.share, () => {
      this.#yielding = false;
      this.#readOn();
      return this.#burst;
    });
  }

  #pauseReading(): void {
    this.#parts.reader.pause();
    this.#parts.socket.pause();
  }

  #readOn(): void {
    if (this.#full || this.#yielding || this.#parts.isClosed()) return;
    this.#burst = 0;
    this.#parts.reader.resume();
    if (this.#full || this.#yielding) return;
    this.#parts.socket.resume();
    this.#parts.readOn();
  }
}
