import type { ServiceRef } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';

// biome-ignore lint/suspicious/noExplicitAny: references of any contract
export type GivenService = readonly [ref: ServiceRef<any>, implementation: object];

/**
 * For `services` of createTestHost(): a service of which the test writes only what the plugin uses, checked against its
 * contract. Calling anything else throws SERVICE_MISSING, which names the method.
 */
export function given<T extends object>(ref: ServiceRef<T>, parts: Partial<T>): GivenService {
  const implementation = new Proxy(parts, {
    get(target, member) {
      const own: unknown = Reflect.get(target, member, target);
      // A class may keep its state in private members, which the proxy has not.
      if (typeof own === 'function') return own.bind(target);
      // `then` is asked of everything that is awaited.
      if (member in target || typeof member === 'symbol' || member === 'then') return own;
      return () => {
        const details = { service: ref.id, range: ref.version, reason: `the test did not give its method ${member}` };
        throw new CoreError('SERVICE_MISSING', details);
      };
    },
  });
  return [ref, implementation];
}
