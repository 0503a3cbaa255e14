/**
 * The calls that a durable write is made of. A call that leaves the thread costs more of the processor than the write
 * itself: what never waits for the disk is done at once, and a write with its sync is one call (O_DSYNC: it returns
 * when the data, and what is needed to find them, are on the disk). Inside walls fsync() and ftruncate() of a number
 * are denied: those go through handles.
 */
import { closeSync, constants, fstatSync, open, write } from 'node:fs';

const { O_WRONLY, O_CREAT, O_EXCL, O_APPEND, O_DSYNC } = constants;

export type Kind = 'new' | 'end';

export class Descriptor implements Disposable {
  readonly #number: number;

  private constructor(number: number) {
    this.#number = number;
  }

  /** `new`: a file of that name must not be there; `end`: what is written comes after what is there. Rejects with what the system says. */
  static open(path: string, kind: Kind, mode: number, sync: boolean): Promise<Descriptor> {
    const flags = O_WRONLY | O_CREAT | (kind === 'new' ? O_EXCL : O_APPEND) | (sync ? O_DSYNC : 0);
    const { promise, resolve, reject } = Promise.withResolvers<Descriptor>();
    open(path, flags, mode, (error, number) => (error ? reject(error) : resolve(new Descriptor(number))));
    return promise;
  }

  get size(): number {
    return fstatSync(this.#number).size;
  }

  /** All of it; on the disk when it resolves, where the descriptor was opened so. */
  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) at += await this.#write(bytes, at);
  }

  #write(bytes: Uint8Array, at: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    write(this.#number, bytes, at, bytes.length - at, null, (error, count) => (error ? reject(error) : resolve(count)));
    return promise;
  }

  [Symbol.dispose](): void {
    closeSync(this.#number);
  }
}
