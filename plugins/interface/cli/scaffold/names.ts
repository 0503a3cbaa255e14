import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { manifestInTree } from '@device-core/plugin-api/inside/tree';
import { usage } from '@device-core/plugin-api/program';

const ID = /^[a-z][a-z0-9-]{0,39}$/;
/** Sources of events and callers are named after these. */
const RESERVED: ReadonlySet<string> = new Set(['core', 'kernel', 'operator', 'plugin', 'app', 'anonymous']);
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** The three forms in which a plugin's id stands in its files. The templates are written for the plugin `plugin-id`. */
export class PluginNames {
  readonly id: string;
  /** `myPlugin`: names of operations and constants. */
  readonly camel: string;
  /** `MyPlugin`: names of types. */
  readonly pascal: string;

  private constructor(id: string) {
    const words = id.split('-').filter((word) => word !== '');
    const upper = words.map((word) => word[0]!.toUpperCase() + word.slice(1));
    this.id = id;
    this.pascal = upper.join('');
    this.camel = [words[0], ...upper.slice(1)].join('');
  }

  /** Throws a Failure for an id that breaks the rules or is taken. */
  static of(id: string): PluginNames {
    if (!ID.test(id)) {
      throw usage(`"${id}" is not a plugin id: 1 to 40 small letters, digits and "-", the first a letter`);
    }
    if (RESERVED.has(id)) throw usage(`${id} is a name that the Core uses itself`);
    if (manifestInTree(ROOT, id) !== undefined) throw usage(`there is a plugin ${id} in the Core already`);
    if (SERVICES.has(id)) throw usage(`${id} is the id of a service of plugin-api; another plugin provides it`);
    return new PluginNames(id);
  }

  /** A template's text, written for this plugin. */
  fill(text: string): string {
    return text
      .replaceAll('plugin_id', this.id.replaceAll('-', '_'))
      .replaceAll('plugin-id', this.id)
      .replaceAll('pluginId', this.camel)
      .replaceAll('PluginId', this.pascal);
  }
}

const { exports } = JSON.parse(readFileSync(join(ROOT, 'plugin-api/package.json'), 'utf8')) as {
  readonly exports: object;
};
const doors = Object.keys(exports).filter((door) => door.startsWith('./services/'));
const contracts = await Promise.all(doors.map((door) => import(`@device-core/plugin-api${door.slice(1)}`)));
const SERVICES: ReadonlySet<string> = new Set(
  contracts.flatMap((contract: object) =>
    Object.values(contract).flatMap((value) => (isServiceRef(value) ? [value.id] : [])),
  ),
);

function isServiceRef(value: unknown): value is { readonly id: string } {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service';
}
