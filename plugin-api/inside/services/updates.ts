import { serviceRef } from '../../contract/service-ref.ts';
import type { UpdateTold } from '../../contract/update-state.ts';

export { UPDATE_STATES, type UpdateState, type UpdateTold } from '../../contract/update-state.ts';

export interface InhibitLease {
  readonly id: string;
  readonly holder: string;
  readonly reason: string;
  /** Milliseconds since the Unix epoch; 24 hours from its beginning at most. */
  readonly until: number;
}

/** Service of the updater for plugins: `voice` and apps hold an update back. */
export interface Updates {
  state(): Promise<UpdateTold>;
  /** Nothing is activated while it is held. Throws BUSY beyond 16 leases. */
  inhibit(holder: string, reason: string, ms: number): Promise<InhibitLease>;
  release(id: string): Promise<void>;
}

export const updates = serviceRef<Updates>('updates', '1.0.0', 'tree');
