import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { devicectlProcess as devicectl } from './run-devicectl.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const MANIFEST = ['id: sample', 'version: 1.0.0', 'summary: A sample', 'api: ^1.0.0', 'main: ./index.ts'];
const EMPTY =
  "import { definePlugin } from '@device-core/plugin-api';\nexport const plugin = definePlugin({ setup() {} });\n";
export const INLINE = 'refuses: { worker: it is a test, process: it is a test }';

export interface Row {
  readonly check: string;
  readonly outcome: string;
  readonly remark: string;
  readonly line?: number;
}

/** Plugins to check, in a temporary folder from which plugin-api is found. */
export class SamplePlugins implements AsyncDisposable {
  readonly folder: string;
  #count = 0;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(): Promise<SamplePlugins> {
    const folder = await mkdtemp(join(tmpdir(), 'dc-check-'));
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    return new SamplePlugins(folder);
  }

  /** Lines to add to the manifest, the code, and other files by their paths. */
  async write(lines: readonly string[], code = EMPTY, files: Readonly<Record<string, string>> = {}): Promise<string> {
    const home = join(this.folder, String(++this.#count));
    await mkdir(home);
    const all = { 'plugin.yaml': [...MANIFEST, ...lines, ''].join('\n'), 'index.ts': code, ...files };
    for (const [name, text] of Object.entries(all)) await writeFile(join(home, name), text);
    return home;
  }

  /** A plugin as it lies in a checkout; resolves with its folder. */
  async writeInTree(testing: string): Promise<string> {
    const checkout = join(this.folder, String(++this.#count));
    for (const name of ['plugins/state/sample', 'manifests/plugins/state', 'test/plugins/sample'])
      await mkdir(join(checkout, name), { recursive: true });
    await symlink(join(ROOT, 'tsconfig.json'), join(checkout, 'tsconfig.json'));
    const manifest = [...MANIFEST.slice(0, -1), 'main: ../../../plugins/state/sample/index.ts', INLINE, ''].join('\n');
    await writeFile(join(checkout, 'manifests/plugins/state/sample.yaml'), manifest);
    await writeFile(join(checkout, 'plugins/state/sample/index.ts'), EMPTY);
    await writeFile(join(checkout, 'test/plugins/sample/sample.test.ts'), testing);
    return join(checkout, 'plugins/state/sample');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

export async function checked(home: string): Promise<{ code: number | null; rows: readonly Row[] }> {
  const { code, stdout, stderr } = await devicectl(['plugin', 'check', home, '--json']);
  assert.equal(stderr, '');
  const { ok, checks } = JSON.parse(stdout);
  assert.equal(ok, code === 0);
  return { code, rows: checks };
}

export function remarks(rows: readonly Row[], check: string): readonly string[] {
  return rows.filter((row) => row.check === check).map((row) => row.remark);
}
