import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { PluginManifest } from '@device-core/plugin-api';
import { reasonOf } from '@device-core/plugin-api';
import { manifestProblems, SCHEMA_WORDS } from '@device-core/plugin-api/inside/manifest-check';
import { parseYaml, type YamlPath } from '@device-core/plugin-api/inside/yaml';
import { Ajv } from 'ajv';
import { misfits } from '../../boot/manifests.ts';
import { type Place, shown } from './place.ts';
import type { CheckRow } from './report.ts';

export interface ManifestFile {
  readonly rows: readonly CheckRow[];
  /** Undefined where it cannot be used. */
  readonly manifest: PluginManifest | undefined;
  readonly main: string;
  /** File and line of a member, for a row. */
  at(path: YamlPath): { readonly file: string; readonly line: number };
}

/** Reads the manifest: YAML, schema, what a schema cannot say, and whether its module is there. */
export function readManifestFile({ manifest: file, folder, checkout }: Place): ManifestFile {
  const { value, errors, line } = parseYaml(readFileSync(file, 'utf8'));
  const at = (path: YamlPath) => ({ file: shown(file), line: line(path) });
  const row = (outcome: CheckRow['outcome'], remark: string, place = at([])): CheckRow => ({
    check: 'manifest',
    outcome,
    remark,
    ...place,
  });
  const refused = (rows: readonly CheckRow[]): ManifestFile => ({ rows, manifest: undefined, main: '', at });
  if (errors.length > 0) {
    return refused(errors.map(({ line, message }) => row('FAIL', message, { file: shown(file), line })));
  }
  const problems = misfits('plugin', value);
  if (problems.length > 0) {
    return refused(problems.map(({ path, reason }) => row('FAIL', `${path.join('.') || 'it'} ${reason}`, at(path))));
  }
  const manifest = value as PluginManifest;
  const main = resolve(dirname(file), manifest.main);
  const rows = manifestProblems(manifest).map(({ path, message }) => row('FAIL', message, at(path)));
  if (!existsSync(main)) rows.push(row('FAIL', `${manifest.main} does not exist`, at(['main'])));
  if (checkout !== undefined && !folder.endsWith(`/${manifest.id}`)) {
    rows.push(row('FAIL', `the folder of ${manifest.id} has another name`, at(['id'])));
  }
  rows.push(...configRows(manifest, row, at));
  if (rows.length > 0) return { rows, manifest, main, at };
  const passed: CheckRow = {
    check: 'manifest',
    outcome: 'PASS',
    remark: `${manifest.id} ${manifest.version}`,
    file: shown(file),
  };
  return { rows: [passed], manifest, main, at };
}

/** A mistake in the schema of a configuration shows as a setting that is never checked. */
export const STRICT = {
  strict: true,
  strictTypes: false,
  strictRequired: false,
  useDefaults: true,
  allowUnionTypes: true,
  keywords: SCHEMA_WORDS,
};

function configRows(
  { config }: PluginManifest,
  row: (outcome: CheckRow['outcome'], remark: string, place: ReturnType<ManifestFile['at']>) => CheckRow,
  at: ManifestFile['at'],
): readonly CheckRow[] {
  if (config === undefined) return [];
  try {
    new Ajv(STRICT).compile({ ...config });
    return [];
  } catch (error) {
    return [row('FAIL', `the schema of the configuration does not compile: ${reasonOf(error)}`, at(['config']))];
  }
}
