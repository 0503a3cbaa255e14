import type { CapabilityId } from '../../contract/capabilities.ts';
import { serviceRef } from '../../contract/service-ref.ts';
import type { ConsentPolicy } from '../consent-policy.ts';

/** One answer that was kept: it holds for what it names and what that implies, until it is revoked. */
export interface Consent {
  readonly capability: CapabilityId;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly allowed: boolean;
  readonly by: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** Version of the app that asked. */
  readonly version: string;
}

/** The kept answers by app, in the order in which they were given. Durable before a method resolves. */
export interface Consents {
  /** Rules of the SKU for capabilities without an answer. */
  policy(): Promise<ConsentPolicy>;
  of(app: string): Promise<readonly Consent[]>;
  /** The newest answer about a capability replaces the former one. */
  keep(app: string, answers: readonly Consent[]): Promise<void>;
  /** Puts them back as they were, as a rollback does; what was refused meanwhile stays refused. */
  replace(app: string, answers: readonly Consent[]): Promise<void>;
  forget(app: string): Promise<void>;
  onChange(listener: (app: string) => void): Disposable;
}

export const consents = serviceRef<Consents>('consents', '1.0.0', 'tree');
