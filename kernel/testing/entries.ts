import { dirname, resolve } from 'node:path';
import {
  type Isolation,
  maybe,
  type PluginDefinition,
  type PluginHost,
  type PluginManifest,
  type ServiceRef,
} from '@device-core/plugin-api';
import type { PluginEntry } from '../resolved.ts';

/**
 * Method of a test's service that needs a separate host: it is called with the host before the service is there. The
 * symbol is registered, because the fakes of a plugin outside of the checkout come from another copy of the kit than
 * `devicectl plugin check`.
 */
export const STARTS = Symbol.for('@device-core/testing-starts');
export interface Starts {
  [STARTS](host: PluginHost): void;
}

/** Id of the plugin that provides what a test gives. */
export const giver = (service: string): string => `test-${service}`;

/** The plugin that provides a service which the test gives, in the version of its reference. */
export function giverEntry(ref: ServiceRef<object>, implementation: object): PluginEntry {
  const { id, version } = ref;
  return {
    ...inMemory({
      id: giver(id),
      version,
      summary: `${id} as the test gives it`,
      api: '*',
      main: 'index.ts',
      provides: { [id]: version },
      hooks: ['operation.before', 'operation.confirm'],
    }),
    definition: {
      setup(host) {
        (implementation as Partial<Starts>)[STARTS]?.(host);
        host.provide(ref, implementation);
      },
    },
  };
}

/** The plugin that is tested. It begins disabled: what the test gives is there first. */
export function testedEntry(
  manifest: PluginManifest,
  options: {
    readonly file: string | undefined;
    readonly isolation: Isolation;
    readonly config: object;
    /** Absent where the plugin is loaded on the other side of a border. */
    readonly definition: PluginDefinition | undefined;
  },
): PluginEntry {
  const { file, isolation, config, definition } = options;
  const main = file === undefined ? {} : { main: resolve(dirname(file), manifest.main) };
  return {
    ...inMemory(manifest),
    ...main,
    isolation,
    config,
    enabled: false,
    ...maybe({ definition }),
  };
}

function inMemory(manifest: PluginManifest): PluginEntry {
  const { id, budget = {} } = manifest;
  return {
    id,
    manifest,
    main: `/memory/${id}/index.ts`,
    tree: true,
    isolation: 'inline',
    budget,
    essential: false,
    enabled: true,
    config: {},
  };
}
