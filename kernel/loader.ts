import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CoreError, type PluginDefinition } from '@device-core/plugin-api';
import type { PluginEntry } from './resolved.ts';

/** `onCrash` hears of the end of a plugin outside this process or thread, once per start. */
export interface LoadOptions {
  readonly onCrash: (error: unknown) => void;
}

const TREE = pathToFileURL(join(import.meta.dirname, '..', '/')).href;
let mapped = false;

/** Imports the module of a plugin. Modules outside the tree get the Core's own plugin-api: one class identity for errors. */
export async function loadPlugin(entry: PluginEntry, _watch: LoadOptions): Promise<PluginDefinition> {
  if (!entry.tree && !mapped) {
    mapped = true; // hooks are for the life of the process
    registerHooks({
      resolve: (specifier, context, next) =>
        /^@device-core\/plugin-api(\/|$)/.test(specifier) && !context.parentURL?.startsWith(TREE)
          ? next(specifier, { ...context, parentURL: import.meta.url })
          : next(specifier, context),
    });
  }
  const { plugin } = (await import(pathToFileURL(entry.main).href)) as { plugin?: PluginDefinition };
  if (typeof plugin?.setup === 'function') return plugin;
  const reason = `${entry.main} exports no \`plugin\` with setup()`;
  throw new CoreError('PLUGIN_START_FAILED', { plugin: entry.id, reason });
}
