import type { Caller, CallerKind } from '@device-core/plugin-api';

export type { CapabilityChecker as TestGrants } from '../capabilities.ts';

/** The caller with a name as in messages, `app.com.example`. */
export function holderOf(name: string): Caller {
  const [kind = '', ...id] = name.split('.');
  return { kind: kind as CallerKind, id: id.join('.') };
}
