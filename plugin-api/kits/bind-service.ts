import type { PluginHost } from '../contract/plugin.ts';
import type { ServiceRef } from '../contract/service-ref.ts';

/** An optional service, the newest one, for as long as it is there: ask it each time, and keep nothing of it. */
export function whileThere<T>(host: Pick<PluginHost, 'when'>, ref: ServiceRef<T>): () => T | undefined {
  let there: T | undefined;
  host.when(ref, (service, part) => {
    there = service;
    part.defer(`use of ${ref.id}`, () => {
      if (there === service) there = undefined;
    });
  });
  return () => there;
}
