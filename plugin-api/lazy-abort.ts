/** An AbortController that is made when somebody asks for the signal: most calls are over before anybody could abort them. */
export class LazyAbort {
  #controller: AbortController | undefined;
  #reason: { readonly reason: unknown } | undefined;
  readonly #made: (() => void) | undefined;

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

  /** The first reason stays. */
  abort(reason: unknown): void {
    this.#reason ??= { reason };
    this.#controller?.abort(this.#reason.reason);
  }
}
