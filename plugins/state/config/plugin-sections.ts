/**
 * Configuration of plugins, set on the device. Keys `plugins.<id>.<member>` of the device's layers are laid over those
 * of the SKU; the Core reads them from `<var>/plugins/settings.json` before it runs anything, and restarts the plugins
 * whose section changed (ADR 0106).
 */

import { dirname } from 'node:path';
import { CoreError, isNewer, type Logger, reasonOf } from '@device-core/plugin-api';
import { makeFolder, readState, replaceFile } from '@device-core/plugin-api/durable';
import { isSkuOnly } from '@device-core/plugin-api/inside/manifest-check';
import {
  formatPluginSettings,
  parsePluginSettings,
  pluginSettingsFile,
} from '@device-core/plugin-api/inside/plugin-settings';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { PluginManager, PluginSettings } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { ConfigEntry } from '@device-core/plugin-api/services/config';
import { type AppKeys, AppSchema, refusingKeys } from './app-schema.ts';
import { isBelow } from './keys.ts';
import type { Problems } from './problems.ts';
import { keysOf, type SchemaKey } from './schema-keys.ts';

export const PLUGINS = 'plugins';
const FAULT = 'settings of plugins';
const NOTHING = formatPluginSettings({});

export interface Section extends PluginSettings {
  readonly keys: readonly SchemaKey[];
}

interface Options {
  readonly folder: string;
  readonly problems: Problems;
  readonly log: Logger;
  /** Settings in force below `plugins`, from all layers. */
  readonly overrides: () => Promise<readonly ConfigEntry[]>;
}

export class PluginSections {
  readonly #options: Options;
  readonly #file: string;
  #manager: Pick<PluginManager, 'settings' | 'apply'> | undefined;
  #sections = new Map<string, Section>();
  readonly #checks = new Map<string, AppKeys>();
  /** Text that the Core applied last: it reads the file at its start. */
  #applied: string | undefined;
  /** The requested change that is applied next: it can be undone. */
  #request: { readonly key: string; readonly undo: () => Promise<unknown> } | undefined;
  readonly #turns = new Serial();

  constructor(options: Options) {
    this.#options = options;
    this.#file = pluginSettingsFile(options.folder);
  }

  async use(manager: Pick<PluginManager, 'settings' | 'apply'>): Promise<void> {
    this.#manager = manager;
    await this.refresh();
    await this.#newer();
    this.#applied ??= await this.#written();
  }

  unuse(): void {
    this.#manager = undefined;
  }

  /** Reads anew what plugins there are, and what they run with. */
  async refresh(): Promise<void> {
    const found = (await this.#manager?.settings()) ?? [];
    this.#sections = new Map(found.map((one) => [one.id, { ...one, keys: keysOf(one.schema ?? {}) }]));
    this.#checks.clear();
  }

  get all(): readonly Section[] {
    return [...this.#sections.values()];
  }

  get(id: string): Section | undefined {
    return this.#sections.get(id);
  }

  /** The plugin and the member that a key stands for. */
  static split(key: string): { readonly id: string; readonly member: string } | undefined {
    const [first, id = '', ...rest] = key.split('.');
    return first === PLUGINS && rest.length > 0 ? { id, member: rest.join('.') } : undefined;
  }

  /** Why a value cannot be one of this key. Nothing is said while the plugins are not known. */
  fault(key: string, value: unknown): string | undefined {
    if (!isBelow(key, PLUGINS) || this.#sections.size === 0) return undefined;
    const named = PluginSections.split(key);
    const section = named && this.#sections.get(named.id);
    if (!named) return `a key below ${PLUGINS} is ${PLUGINS}.<id>.<member>`;
    if (!section) return `there is no plugin ${named.id}`;
    if (!section.schema) return `plugin ${named.id} takes no configuration`;
    if (isSkuOnly(section.schema, named.member)) return 'the SKU alone decides this';
    return this.#check(section).fault(named.member, value);
  }

  /** Which member of the value is refused, as a JSON pointer. */
  place(key: string, value: unknown): string {
    const named = PluginSections.split(key);
    const section = named && this.#sections.get(named.id);
    return section?.schema ? this.#check(section).place(named!.member, value) : '';
  }

  isSecret(key: string): boolean {
    const named = PluginSections.split(key);
    const section = named && this.#sections.get(named.id);
    return section?.keys.some(({ name, secret }) => secret && isBelow(named!.member, name)) ?? false;
  }

  /**
   * Makes a change that was asked for. The Core is asked first whether it could take it: what it refuses is not
   * written. Resolves when `write` has; the plugins restart afterwards, as the one who answers may be one of them.
   * `undo` is called where a plugin does not come up with it.
   */
  change<T>(
    key: string,
    wanted: (entries: readonly ConfigEntry[]) => readonly Pick<ConfigEntry, 'key' | 'value'>[],
    write: () => Promise<T>,
    undo: () => Promise<unknown>,
  ): Promise<T> {
    return this.#turns.run(async () => {
      // One after the other: what the plugins do not run with must be given back alone.
      if (this.#request) await this.#apply();
      const former = await this.#written();
      const next = format(wanted(await this.#options.overrides()));
      if (next !== former) await this.#try(key, next, former);
      try {
        this.#request = { key, undo };
        const written = await write();
        void this.follow();
        return written;
      } catch (error) {
        this.#request = undefined;
        if (next !== former) await this.#write(former);
        throw error;
      }
    });
  }

  /** Brings the file and the plugins in line after any change of the layers. */
  follow(): Promise<void> {
    return this.#turns.run(() => this.#apply());
  }

  async #try(key: string, next: string, former: string): Promise<void> {
    await this.#write(next);
    if (!this.#manager) return;
    try {
      await this.#manager.apply({ installed: true, check: true });
    } catch (error) {
      if (isNoFile(error)) return;
      await this.#write(former);
      throw new CoreError('CONFIG_VALUE_INVALID', { key, reason: told(error) }, { cause: error });
    }
  }

  async #apply(): Promise<void> {
    const { problems, log } = this.#options;
    const request = this.#request;
    this.#request = undefined;
    if (await this.#newer()) return;
    try {
      const text = format(await this.#options.overrides());
      if (text !== (await this.#written())) await this.#write(text);
      if (text === this.#applied || !this.#manager) return;
      const former = this.#applied;
      this.#applied = text;
      try {
        await this.#manager.apply({ installed: true });
        problems.mended(FAULT);
      } catch (error) {
        if (isNoFile(error)) return;
        if (!request) throw error;
        this.#applied = former;
        const message = `${request.key} was given back, as the plugins do not run with it: ${told(error)}`;
        problems.note(message);
        log.error({ key: request.key }, message);
        await request.undo();
        await this.#write(format(await this.#options.overrides()));
      }
      await this.refresh();
    } catch (error) {
      const message = `cannot apply the settings of plugins: ${told(error)}`;
      if (problems.fault(FAULT, error instanceof CoreError ? error.code : 'INTERNAL', message)) log.error({}, message);
    }
  }

  async #written(): Promise<string> {
    return (await readState(this.#file).catch(() => undefined)) ?? NOTHING;
  }

  /** A newer Core wrote the file: it is left alone, and told. */
  async #newer(): Promise<CoreError | undefined> {
    try {
      parsePluginSettings(await this.#written(), this.#file);
    } catch (error) {
      if (!isNewer(error)) return undefined; // it is damaged, and written anew from the layers
      this.#options.problems.newer(`${error.message}; plugins run with what the SKU says meanwhile`);
      return error;
    }
    return undefined;
  }

  async #write(text: string): Promise<void> {
    const newer = await this.#newer();
    if (newer) throw newer;
    await makeFolder(dirname(this.#file));
    await replaceFile(this.#file, text);
  }

  #check({ id, schema = {} }: Section): AppKeys {
    const known = this.#checks.get(id);
    if (known) return known;
    let made: AppKeys;
    try {
      made = new AppSchema(id, { schema }, `plugin ${id}`);
    } catch (error) {
      made = refusingKeys(undefined, reasonOf(error));
    }
    this.#checks.set(id, made);
    return made;
  }
}

/** Which plugin gets which members. */
function format(entries: readonly Pick<ConfigEntry, 'key' | 'value'>[]): string {
  const members = entries.flatMap(({ key, value }) => {
    const named = PluginSections.split(key);
    return named ? [{ ...named, value }] : [];
  });
  const plugins = [...Map.groupBy(members, ({ id }) => id)].map(
    ([id, of]) => [id, Object.fromEntries(of.map(({ member, value }) => [member, value]))] as const,
  );
  return formatPluginSettings(Object.fromEntries(plugins));
}

/** A Core whose SKU is no file reads the settings at its next start. */
function isNoFile(error: unknown): boolean {
  return error instanceof CoreError && error.code === 'UNAVAILABLE';
}

function told(error: unknown): string {
  const problems =
    error instanceof CoreError ? (error.details.problems as readonly { stops?: string; message: string }[]) : [];
  const fatal = (problems ?? []).filter(({ stops }) => stops === 'core').map(({ message }) => message);
  return fatal.length > 0 ? fatal.join('; ') : reasonOf(error);
}
