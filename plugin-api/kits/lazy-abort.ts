/**
 * Member by which an invocation reports its abort: runners listen here and not to its signal, which then need not be
 * made.
 */
export const WHEN_ABORTED = Symbol('when aborted');

/** An AbortController that is made when somebody asks for the signal: most calls are over before anybody could abort them. */
export class LazyAbort {
  /** A collection that finds no object of a class throws the code away that V8 compiled for it. */
  static readonly kept = new LazyAbort();
  #controller: AbortController | undefined;
  #reason: { readonly reason: unknown } | undefined;
  readonly #made: (() => void) | undefined;
  #listener: ((reason: unknown) => void) | undefined;

  /** `made` is called once, when the signal has been made and is not aborted. */
  constructor(made?: () => void) {
    this.#made = made;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason.reason);
      else this.#made?.();
    }
    return this.#controller.signal;
  }

  /** Calls one listener, at once where it is aborted already, and needs no signal for that. */
  listen(listener: (reason: unknown) => void): void {
    if (this.#reason) listener(this.#reason.reason);
    else this.#listener = listener;
  }

  /** The first reason stays. */
  abort(reason: unknown): void {
    if (this.#reason) return;
    this.#reason = { reason };
    this.#listener?.(reason);
    this.#controller?.abort(reason);
  }
}
