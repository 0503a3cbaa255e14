import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CoreError, type DeviceInfo, type PluginDefinition } from '@device-core/plugin-api';
import type { GuestUsage } from './isolation/index.ts';
import type { PluginEntry } from './resolved.ts';

/** `onCrash` hears of the end of a plugin outside this process or thread, once per start. */
export interface LoadOptions {
  readonly onCrash: (error: unknown) => void;
  readonly onUsage: (usage: GuestUsage) => void;
  readonly paths: DeviceInfo['paths'];
}

const TREE = pathToFileURL(join(import.meta.dirname, '..', '/')).href;
let mapped = false;

/** Imports the module of a plugin, or stands in for one that runs elsewhere. Modules outside the tree get the Core's own plugin-api: one class identity for errors. */
export async function loadPlugin(entry: PluginEntry, options: LoadOptions): Promise<PluginDefinition> {
  const { id, isolation: level, manifest, main, budget } = entry;
  if (level !== 'inline') {
    const { isolatedPlugin } = await import('./isolation/index.ts');
    return isolatedPlugin({ level, manifest, main, budget: budget ?? {}, ...options });
  }
  if (!entry.tree && !mapped) {
    mapped = true; // hooks are for the life of the process
    registerHooks({
      resolve: (specifier, context, next) =>
        /^@device-core\/plugin-api(\/|$)/.test(specifier) && !context.parentURL?.startsWith(TREE)
          ? next(specifier, { ...context, parentURL: import.meta.url })
          : next(specifier, context),
    });
  }
  const { plugin } = (await import(pathToFileURL(main).href)) as { plugin?: PluginDefinition };
  if (typeof plugin?.setup === 'function') return plugin;
  const reason = `${main} exports no \`plugin\` with setup()`;
  throw new CoreError('PLUGIN_START_FAILED', { plugin: id, reason });
}
