import { type ServiceRef, serviceRef } from '@device-core/plugin-api';

export interface Echo {
  /** Resolves with what it was given. */
  say<T>(value: T): Promise<T>;
}

export function echoRef(level: string): ServiceRef<Echo> {
  return serviceRef<Echo>(`echo-${level}`, '1.0.0');
}
