import { CoreError } from '../errors.ts';
import type { Scope } from '../scope.ts';

interface Entry {
  readonly label: string;
  release(): unknown;
}

/** A scope with the kernel's semantics, for tests: newest first, each release awaited, failures of a release collected. */
export class TestScope implements Scope, AsyncDisposable {
  readonly #owner: string;
  readonly #abort = new AbortController();
  readonly #entries: Entry[] = [];
  readonly #onError: (label: string, error: unknown) => void;
  readonly #onEnd: () => void;
  #ending: Promise<void> | undefined;

  constructor(owner: string, onError: (label: string, error: unknown) => void, onEnd: () => void = () => undefined) {
    this.#owner = owner;
    this.#onError = onError;
    this.#onEnd = onEnd;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Labels of what it holds now, oldest first. */
  get held(): readonly string[] {
    return this.#entries.map((entry) => entry.label);
  }

  use<T extends Disposable | AsyncDisposable>(label: string, resource: T): T {
    const release = () =>
      Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose]();
    this.#add({ label, release });
    return resource;
  }

  defer(label: string, release: () => void | Promise<void>): void {
    this.#add({ label, release });
  }

  /** Like defer(), but may be released before the end. */
  hold(label: string, release: () => void): Disposable {
    const entry = { label, release };
    this.#add(entry);
    return {
      [Symbol.dispose]: () => {
        this.#remove(entry);
        release();
      },
    };
  }

  interval(label: string, ms: number, fn: () => void | Promise<void>): void {
    let busy = false;
    const timer = setInterval(() => {
      if (busy) return;
      busy = true;
      void this.#run(label, fn).finally(() => {
        busy = false;
      });
    }, ms);
    this.#add({ label, release: () => clearInterval(timer) });
  }

  timeout(label: string, ms: number, fn: () => void | Promise<void>): Disposable {
    const end = () => {
      clearTimeout(timer);
      this.#remove(entry);
    };
    const timer = setTimeout(() => {
      this.#remove(entry);
      void this.#run(label, fn);
    }, ms);
    const entry: Entry = { label, release: end };
    this.#add(entry);
    return { [Symbol.dispose]: end };
  }

  child(label: string): TestScope {
    const child = new TestScope(this.#owner, this.#onError, () => this.#remove(entry));
    const entry: Entry = { label, release: () => child.end() };
    this.#add(entry);
    return child;
  }

  /** Releases everything; a second call waits for the first. */
  end(): Promise<void> {
    this.#ending ??= this.#release();
    return this.#ending;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }

  async #release(): Promise<void> {
    this.#abort.abort(new CoreError('CANCELLED', { what: `plugin ${this.#owner}`, reason: 'its scope ended' }));
    for (let entry = this.#entries.pop(); entry; entry = this.#entries.pop()) {
      const { label, release } = entry;
      await this.#run(label, release);
    }
    this.#onEnd();
  }

  async #run(label: string, fn: () => unknown): Promise<void> {
    try {
      await fn();
    } catch (error) {
      this.#onError(label, error);
    }
  }

  #add(entry: Entry): void {
    if (!this.#ending) {
      this.#entries.push(entry);
      return;
    }
    void this.#run(entry.label, () => entry.release());
    throw new CoreError('SCOPE_CLOSED', { plugin: this.#owner, label: entry.label });
  }

  #remove(entry: Entry): void {
    const index = this.#entries.indexOf(entry);
    if (index >= 0) this.#entries.splice(index, 1);
  }
}
