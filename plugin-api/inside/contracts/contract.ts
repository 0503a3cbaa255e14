import type { ServiceAccess } from '../../contract/service-ref.ts';

export interface Contract {
  readonly version: string;
  readonly access: ServiceAccess;
  /** The claim of a powerful one as people read it. */
  readonly does?: string;
  /** Members that its interface declares. */
  readonly members: readonly string[];
}
