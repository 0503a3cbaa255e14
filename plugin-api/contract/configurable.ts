/** An answer of setup() that takes changes of the members of the configuration whose schema says `live: true`. */
export interface Configurable<C = unknown> {
  /** Called with the whole configuration as it is now. Throwing undoes the change: it is then called with the former one. */
  configure(config: Readonly<C>): void;
}
