/** An author outside of the checkout: a folder of their own, the packed plugin-api, and what the scaffold gives. No network. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { packPluginApi } from '../../plugin-api/build/pack.ts';
import { KIND_NAMES } from '../../plugins/interface/cli/scaffold/kinds.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const DEVICECTL = join(ROOT, 'plugins/interface/cli/program/devicectl.ts');
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;

let folder: string;
let api: string;

/** Runs Node in the author's folder; rejects with all that it printed. */
async function node(args: readonly string[], cwd = folder): Promise<string> {
  const run = promisify(execFile)(process.execPath, [...args], { cwd, env: environment });
  const { stdout } = await run.catch((error) => {
    throw new Error(`node ${args.join(' ')} failed\n${error.stdout}${error.stderr}`);
  });
  return stdout;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dc-author-'));
  api = packPluginApi(folder);
  // What `npm install` would do: the package from its file, and beside it what it needs.
  const modules = join(folder, 'node_modules');
  const home = join(modules, '@device-core/plugin-api');
  await mkdir(home, { recursive: true });
  await mkdir(join(modules, '@types'));
  await promisify(execFile)('tar', ['xzf', api, '-C', home, '--strip-components=1']);
  const { dependencies } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const others = ['@types/node', 'undici-types', 'fast-deep-equal', 'fast-uri', 'typescript'];
  for (const name of [...Object.keys(dependencies), ...others])
    await symlink(join(ROOT, 'node_modules', name), join(modules, name));
});
after(() => rm(folder, { recursive: true, force: true }));

const FAKES = `import { operations } from '@device-core/plugin-api/services/operations';
import { TestOperations } from '@device-core/plugin-api/testing';

export const services = () => [[operations, new TestOperations()]];
`;

describe('a plugin of every kind, as the scaffold gives it, passes outside of the tree', { concurrency: 2 }, () => {
  for (const kind of KIND_NAMES)
    test(kind, { timeout: 300_000 }, async () => {
      const id = `the-${kind}`;
      await node([DEVICECTL, 'plugin', 'new', id, '--kind', kind, '--api', api]);
      const home = join(folder, id);
      const { scripts, devDependencies } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
      assert.equal(devDependencies['@device-core/plugin-api'], `file:../${api.slice(folder.length + 1)}`);
      // The types of the package are as strict as the author's own.
      await node([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', home, '--skipLibCheck', 'false']);
      // `npm run check`, without npm; or the check of another copy of the kit than the author's fakes come from.
      const [, script] = /^node -e "(.*)"$/.exec(scripts.check) ?? [];
      if (kind === 'operation') await writeFile(join(home, 'fakes.ts'), FAKES);
      const table = await node(
        kind === 'operation' ? [DEVICECTL, 'plugin', 'check', '.'] : ['-e', script ?? 'throw'],
        home,
      );
      const outcomes = table.split('\n').map((line) => line.slice(0, 4));
      assert.deepEqual(outcomes.toSpliced(-2), Array(10).fill('PASS'), table);
      assert.match(table, /^passed: 0 failures, 0 warnings$/m);
    });
});

test('an editor finds the schema of the manifest where the manifest says', async () => {
  await node([DEVICECTL, 'plugin', 'new', 'edited', '--kind', 'service', '--dir', 'edited']);
  const [, path = ''] = /\$schema=(\S+)/.exec(await readFile(join(folder, 'edited/plugin.yaml'), 'utf8')) ?? [];
  const schema = JSON.parse(await readFile(join(folder, path), 'utf8'));
  assert.deepEqual(schema, JSON.parse(await readFile(join(ROOT, 'manifests/schema/plugin.json'), 'utf8')));
});
