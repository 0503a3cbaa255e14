import { serviceRef } from '@device-core/plugin-api';

/**
 * Service of plugin-id for other plugins. Every method returns a promise, an AsyncIterable or a Disposable, and takes
 * values that can be cloned or callbacks: then its users do not notice on which side of a process border it runs.
 */
export interface PluginIdService {
  /** How often `name` was counted, this time included. Rejects with PARAMS_INVALID when it is empty or one name too many. */
  count(name: string): Promise<number>;
  /** Calls the listener after each count, until disposed. */
  watch(listener: (name: string, count: number) => void): Disposable;
}

/** The version is the version of this contract, not of the plugin. */
export const pluginIdService = serviceRef<PluginIdService>('plugin-id', '1.0.0');
