import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { CoreError, type PluginDefinition, type PluginSource, reasonOf } from '@device-core/plugin-api';
import type { Launcher } from '@device-core/plugin-api/inside/services/launcher';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { IsolatedOptions } from './isolation/isolated.ts';

export type LoadOptions = Pick<IsolatedOptions, 'onPeer' | 'processes' | 'threads' | 'units'> & {
  readonly paths: DeviceInfo['paths'];
  readonly launcher: Launcher;
};

const TREE = pathToFileURL(join(import.meta.dirname, '..', '/')).href;
let mapped = false;
/** One import a turn of the event loop, so that requests are answered between the imports of forty plugins. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * The Core's own tap of plugin.load: imports the module of a plugin, or stands in for one that runs elsewhere. Modules
 * outside the tree get the Core's own plugin-api: one class identity for errors. Throws PLUGIN_START_FAILED.
 */
export async function loadPlugin(source: PluginSource, options: LoadOptions): Promise<PluginDefinition> {
  const { isolation: level, manifest, main, budget, share, tree } = source;
  const plugin = manifest.id;
  if (level !== 'inline') {
    const { isolatedPlugin } = await import('./isolation/isolated.ts');
    const onUsage: IsolatedOptions['onUsage'] = ({ cpuMs, heapBytes }) => source.used({ cpuMs, heapBytes });
    return isolatedPlugin({ level, manifest, main, budget, share, onCrash: source.crashed, onUsage, ...options });
  }
  if (!tree && !mapped) {
    mapped = true; // hooks are for the life of the process
    registerHooks({
      resolve: (specifier, context, next) =>
        /^@device-core\/plugin-api(\/|$)/.test(specifier) && !context.parentURL?.startsWith(TREE)
          ? next(specifier, { ...context, parentURL: import.meta.url })
          : next(specifier, context),
    });
  }
  turn = turn.then(() => setImmediate());
  await turn;
  const module = await importModule(plugin, main);
  if (typeof module.plugin?.setup === 'function') return module.plugin;
  throw new CoreError('PLUGIN_START_FAILED', { plugin, reason: `${main} exports no \`plugin\` with setup()` });
}

async function importModule(plugin: string, main: string): Promise<{ readonly plugin?: PluginDefinition }> {
  try {
    return await import(pathToFileURL(main).href);
  } catch (cause) {
    if (cause instanceof CoreError) throw cause;
    throw new CoreError('PLUGIN_START_FAILED', { plugin, reason: reasonOf(cause) }, { cause });
  }
}
