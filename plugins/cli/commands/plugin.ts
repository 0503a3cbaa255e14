import type { Command } from 'commander';
import { addPluginCheck } from './plugin-check.ts';
import { addPluginNew } from './plugin-new.ts';

/** `devicectl plugin`: what is done with one plugin as a package; `devicectl plugins` looks at those that run. */
export function addPlugin(program: Command): void {
  const plugin = program.command('plugin').description('write and check plugins');
  addPluginNew(plugin);
  addPluginCheck(plugin);
}
