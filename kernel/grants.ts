/** A checker of capabilities that tells who holds what: each holder at once, then each change; undefined when a caller holds nothing any more. */
export interface GrantSource {
  watch(listener: (caller: string, capabilities: readonly string[] | undefined) => void): Disposable;
}
