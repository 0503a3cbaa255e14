import type { PageView } from '@device-core/plugin-api/contract/plugin-page';

/** A line of operations.list. */
export interface Operation {
  readonly name: string;
  readonly plugin?: string;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path?: string;
  readonly page?: PageView;
}
