import type { Command } from 'commander';
import { addPluginCheck } from './plugin-check.ts';
import { addPluginNew } from './plugin-new.ts';
import { addPluginStore } from './plugin-store.ts';
import { addPlugins } from './plugins.ts';

/** `devicectl plugin`, also written `plugins`: those that run, those that were installed, and those that are being written. */
export function addPlugin(program: Command): void {
  const plugin = program
    .command('plugin')
    .alias('plugins')
    .description('the plugins of the Core; write, check and install more');
  addPlugins(plugin);
  addPluginStore(plugin);
  addPluginNew(plugin);
  addPluginCheck(plugin);
}
