/**
 * `<var>/plugins/settings.json`: members of plugins' configuration that were set on the device, laid over what the SKU
 * says. The plugin `config` writes it from its layers (keys `plugins.<id>.<member>`), the Core reads it before it runs
 * anything. Damage costs the overrides, never the start.
 */
import { join } from 'node:path';
import { CoreError, reasonOf } from '../contract/errors.ts';
import { newerForm } from '../contract/state-form.ts';
import { readStateSync } from '../kits/durable/read.ts';

/** By plugin, the value of each member by its dotted path. */
export type PluginOverrides = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const FORM = 1;
const PLUGIN = /^[a-z][a-z0-9-]{0,39}$/;
/** Dotted, as keys of settings are; nothing that reaches into a prototype. */
const MEMBER = /^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*)*$/;

export function pluginSettingsFile(state: string): string {
  return join(state, 'plugins', 'settings.json');
}

export function formatPluginSettings(plugins: PluginOverrides): string {
  return `${JSON.stringify({ format: FORM, plugins }, null, 1)}\n`;
}

/** Throws STATE_CORRUPT, STATE_NEWER. */
export function parsePluginSettings(text: string, file: string): PluginOverrides {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    throw new CoreError('STATE_CORRUPT', { file, reason: reasonOf(error) });
  }
  const { format, plugins } = isMap(content) ? content : {};
  const newer = newerForm(file, format, FORM);
  if (newer) throw newer;
  if (format !== FORM || !isMap(plugins) || !Object.entries(plugins).every(isSection))
    throw new CoreError('STATE_CORRUPT', { file, reason: 'it holds no settings of plugins' });
  return plugins as PluginOverrides;
}

/** Nothing is overridden where the file is not there or cannot be used. */
export function readPluginSettings(state: string): {
  readonly file: string;
  readonly overrides: PluginOverrides;
  readonly problem?: CoreError;
} {
  const file = pluginSettingsFile(state);
  try {
    const text = readStateSync(file);
    return { file, overrides: text === undefined ? {} : parsePluginSettings(text, file) };
  } catch (error) {
    const problem =
      error instanceof CoreError ? error : new CoreError('STATE_CORRUPT', { file, reason: reasonOf(error) });
    return { file, overrides: {}, problem };
  }
}

function isSection([id, members]: [string, unknown]): boolean {
  return PLUGIN.test(id) && isMap(members) && Object.keys(members).every((name) => MEMBER.test(name));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
