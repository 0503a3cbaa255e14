import { type PluginManifest, reasonOf } from '@device-core/plugin-api';
import { isSkuOnly, UNIQUE_ITEM_PROPERTIES } from '@device-core/plugin-api/inside/manifest-check';
import type { PluginOverrides } from '@device-core/plugin-api/inside/plugin-settings';
import type { SkuPlace } from '@device-core/plugin-api/inside/sku-family';
import { schemaProblems, type YamlPath } from '@device-core/plugin-api/inside/yaml';
import { addressPasswords } from './address-passwords.ts';
import type { Setting } from './arguments.ts';
import { deepFreeze } from './freeze.ts';
import { configure } from './manifests.ts';
import { secretHint } from './secret-hint.ts';
import { type Report, setMember } from './sku-line.ts';

/** Settings that lie over the lines of a SKU: those of the command line above those of the device. */
export interface LaidOver {
  readonly settings: readonly Setting[];
  readonly overrides: PluginOverrides;
  /** File of the overrides. */
  readonly overridden: SkuPlace;
}

/** Makes the configuration of one plugin from its line, its schema and what lies over them. */
export class LineConfiguration {
  readonly #id: string;
  readonly #manifest: PluginManifest;
  readonly #over: LaidOver;
  readonly #report: Report;

  constructor(manifest: PluginManifest, id: string, over: LaidOver, report: Report) {
    this.#id = id;
    this.#manifest = manifest;
    this.#over = over;
    this.#report = report;
  }

  /** Fills settings and defaults in and freezes it. What does not fit stops the Core: it would not be what the OEM asked for. */
  complete(sku: SkuPlace, config: Record<string, unknown>, from: 'tree' | 'outside'): void {
    const id = this.#id;
    const schema = this.#manifest.config;
    const at: YamlPath = ['plugins', id, 'config'];
    for (const path of addressPasswords(config)) {
      const instead = 'take it out; `devicectl secret set NAME` keeps it for a setting that takes { secret: NAME }';
      const message = `configuration ${[id, ...path].join('.')} is an address with a password, for all who read the SKU: ${instead}`;
      // A device that has run with it goes on; a change that brings it is refused.
      this.#report('nothing', sku, [...at, ...path], 'SKU_INVALID', message, id);
    }
    const set = (target: Record<string, unknown>): void => {
      for (const { plugin, key, value, append } of this.#over.settings)
        if (plugin === id) setMember(target, key.split('.'), value, append ?? false);
    };
    try {
      this.#override(config, (target) => {
        set(target);
        return schemaProblems(configure(schema, target, from));
      });
      set(config);
      for (const { path, reason, keyword } of schemaProblems(configure(schema, config, from))) {
        const message = `configuration ${[id, ...path].join('.')} ${reason}${secretHint(schema, config, path)}`;
        // The plugin takes the first of two items of one name and reports it, so the device still starts.
        const stops = keyword === UNIQUE_ITEM_PROPERTIES ? 'nothing' : 'core';
        this.#report(stops, sku, [...at, ...path], 'SKU_INVALID', message, id);
      }
    } catch (error) {
      const message = `the configuration schema of ${id} cannot be applied: ${reasonOf(error)}`;
      this.#report('plugin', sku, at, 'MANIFEST_INVALID', message, id);
    }
    deepFreeze(config);
  }

  /**
   * Lays what was set on the device over a configuration, or leaves all of it out where it does not fit: a former
   * version may have taken it.
   */
  #override(
    config: Record<string, unknown>,
    problems: (target: Record<string, unknown>) => ReturnType<typeof schemaProblems>,
  ): void {
    const id = this.#id;
    const schema = this.#manifest.config;
    const { overrides } = this.#over;
    const found = Object.hasOwn(overrides, id) ? Object.entries(overrides[id] ?? {}) : [];
    const members = found.filter(([key]) => !isSkuOnly(schema, key));
    for (const [key] of found.filter(([name]) => isSkuOnly(schema, name))) {
      const message = `what was set for ${id}.${key} is left out: the SKU alone decides this`;
      this.#report('nothing', this.#over.overridden, [], 'CONFIG_VALUE_INVALID', message, id);
    }
    if (members.length === 0 || schema === undefined) return;
    const lay = (target: Record<string, unknown>): Record<string, unknown> => {
      for (const [key, value] of members) setMember(target, key.split('.'), structuredClone(value), false);
      return target;
    };
    const [first] = problems(lay(structuredClone(config)));
    if (first === undefined) return void lay(config);
    const message = `what was set for ${[id, ...first.path].join('.')} is left out: it ${first.reason}`;
    this.#report('nothing', this.#over.overridden, [], 'CONFIG_VALUE_INVALID', message, id);
  }
}
