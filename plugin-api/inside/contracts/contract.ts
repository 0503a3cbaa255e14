import type { ServiceAccess } from '../../contract/service-ref.ts';

export interface Contract {
  readonly version: string;
  readonly access: ServiceAccess;
  /** The claim of a powerful one as people read it. */
  readonly does?: string;
  /** Members that its interface declares. */
  readonly members: readonly string[];
  /** Answers of these members that are more than data. */
  readonly gives?: Readonly<Record<string, Given>>;
}

/**
 * Answer of a member as its contract declares it: something to dispose of, to iterate, of any form, or an object with
 * these members.
 */
export type Given = 'dispose' | 'iterate' | 'any' | readonly string[];
