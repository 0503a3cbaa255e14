import { CoreError } from '@device-core/plugin-api';
import type { Exporter, Live } from './encoder.ts';

export interface Exported {
  readonly value: object;
  readonly methods: ReadonlySet<string>;
  /** Exports that are released with it. */
  readonly held: readonly number[];
  iterator?: AsyncIterator<unknown>;
  /** The last read of an iterator: reads run one after the other. */
  last?: Promise<unknown>;
  /** Stops listening to its signal. */
  unlisten?: () => void;
  /** A callback that must not be called any more. */
  muted?: boolean;
  /** Called at the release of a value of an answer. */
  onRelease?: () => void;
}

const NOTHING: readonly number[] = [];
const NO_METHODS: ReadonlySet<string> = new Set();

/** Exports of this side to the other one, by number. */
export class Exports implements Exporter {
  readonly #byRef = new Map<number, Exported>();
  readonly #lives = new Map<object, number>();
  readonly #imported: WeakMap<object, number>;
  readonly #onAbort: (ref: number, reason: unknown) => void;
  #last = 0;

  /** `imported` knows the stand-ins of the other side; `onAbort` tells it of a signal. */
  constructor(imported: WeakMap<object, number>, onAbort: (ref: number, reason: unknown) => void) {
    this.#imported = imported;
    this.#onAbort = onAbort;
  }

  get size(): number {
    return this.#byRef.size;
  }

  get(ref: number): Exported | undefined {
    return this.#byRef.get(ref);
  }

  theirs(value: object): number | undefined {
    return this.#imported.get(value);
  }

  /** Under a fixed number, until the end. */
  root(value: object, methods: readonly string[]): void {
    this.#byRef.set(0, { value, methods: new Set(methods), held: [] });
  }

  export(value: object, methods: readonly string[], held: number[]): number {
    const ref = ++this.#last;
    this.#byRef.set(ref, { value, methods: new Set(methods), held: NOTHING });
    held.push(ref);
    return ref;
  }

  exportSignal(signal: AbortSignal, held: number[]): number {
    const ref = ++this.#last;
    const aborted = () => this.#onAbort(ref, signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    const unlisten = () => signal.removeEventListener('abort', aborted);
    this.#byRef.set(ref, { value: signal, methods: NO_METHODS, held: NOTHING, unlisten });
    held.push(ref);
    return ref;
  }

  exportLive(value: object, signal: AbortSignal, methods: readonly string[]): Live {
    const known = this.#lives.get(value);
    if (known !== undefined) return { ref: known, known: true, held: [] };
    const ref = ++this.#last;
    const held: number[] = [];
    const aborted = () => {
      this.release(ref);
      this.#onAbort(ref, signal.reason);
    };
    signal.addEventListener('abort', aborted, { once: true });
    const unlisten = () => signal.removeEventListener('abort', aborted);
    this.#lives.set(value, ref);
    this.#byRef.set(ref, { value, methods: new Set(methods), held, unlisten });
    return { ref, known: false, held };
  }

  /** Callbacks among these are not called any more; objects still serve those who hold them. */
  mute(refs: readonly number[]): void {
    for (const ref of refs) {
      const exported = this.#byRef.get(ref);
      if (exported && typeof exported.value === 'function') exported.muted = true;
    }
  }

  /** Calls `done` when the last of these is released. */
  whenReleased(refs: readonly number[], done: () => void): void {
    let open = refs.length;
    const onRelease = () => {
      open--;
      if (open === 0) done();
    };
    for (const ref of refs) {
      const exported = this.#byRef.get(ref);
      const before = exported?.onRelease;
      if (!exported) continue;
      exported.onRelease = () => {
        before?.();
        onRelease();
      };
    }
  }

  iterators(): readonly AsyncIterator<unknown>[] {
    return [...this.#byRef.values()].flatMap(({ iterator }) => iterator ?? []);
  }

  /** Forgets it and what it holds; false when it was forgotten before. */
  release(ref: number): boolean {
    const exported = this.#byRef.get(ref);
    if (!exported || ref === 0) return false;
    this.#byRef.delete(ref);
    exported.unlisten?.();
    exported.onRelease?.();
    if (this.#lives.get(exported.value) === ref) this.#lives.delete(exported.value);
    this.releaseAll(exported.held);
    return true;
  }

  releaseAll(refs: readonly number[]): void {
    for (const ref of refs) this.release(ref);
  }

  /** Aborts the signals among them on the other side. */
  abort(refs: readonly number[], reason: unknown): void {
    for (const ref of refs) if (this.#byRef.get(ref)?.value instanceof AbortSignal) this.#onAbort(ref, reason);
  }

  clear(): void {
    for (const [ref, { unlisten }] of this.#byRef) {
      unlisten?.();
      this.#byRef.delete(ref);
    }
    this.#lives.clear();
  }
}

/** Error for the use of a released export. */
export function released(who: string): CoreError {
  const reason = 'it was let go: a callback lives as long as the call or the disposable that it was given to';
  return new CoreError('UNAVAILABLE', { what: `something of ${who}`, reason });
}
