import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { devicectl } from './run-devicectl.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

interface Row {
  readonly check: string;
  readonly outcome: string;
  readonly remark: string;
  readonly line?: number;
}

let folder: string;
let plugins = 0;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dc-check-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
});
after(() => rm(folder, { recursive: true, force: true }));

const MANIFEST = ['id: sample', 'version: 1.0.0', 'summary: A sample', 'api: ^1.0.0', 'main: ./index.ts'];
const EMPTY =
  "import { definePlugin } from '@device-core/plugin-api';\nexport const plugin = definePlugin({ setup() {} });\n";
const INLINE = ['refuses: { worker: it is a test, process: it is a test }'];

/** Writes a plugin: lines to add to the manifest, its code, and other files. */
async function written(lines: readonly string[], code = EMPTY, files: Readonly<Record<string, string>> = {}) {
  const home = join(folder, String(++plugins));
  await mkdir(home);
  const all = { 'plugin.yaml': [...MANIFEST, ...lines, ''].join('\n'), 'index.ts': code, ...files };
  for (const [name, text] of Object.entries(all)) await writeFile(join(home, name), text);
  return home;
}

async function checked(home: string): Promise<{ code: number | null; rows: readonly Row[] }> {
  const { code, stdout, stderr } = await devicectl(['plugin', 'check', home, '--json']);
  assert.equal(stderr, '');
  const { ok, checks } = JSON.parse(stdout);
  assert.equal(ok, code === 0);
  return { code, rows: checks };
}

const not = (outcome: string, rows: readonly Row[]) => rows.filter((row) => row.outcome !== outcome);
const remarks = (rows: readonly Row[], check: string) =>
  rows.filter((row) => row.check === check).map((row) => row.remark);

describe('a manifest that is wrong is told with its line, and nothing is run', () => {
  const cases: readonly (readonly [title: string, lines: readonly string[], line: number, remark: RegExp])[] = [
    ['text that is no YAML', ['provides: { a: 1.0.0'], 7, /flow/i],
    ['a member that does not exist', ['provide: { a: 1.0.0 }'], 6, /^provide is not known here$/],
    ['a level that does not exist', ['isolation: thread'], 6, /must be one of inline, worker, process/],
    ['a hook that does not exist', ['taps: [health.colect]'], 6, /there is no hook health.colect/],
    ['a hook of another plugin', ['hooks:', '  - health.collect'], 7, /hook health.collect is owned by system/],
    ['a range that is none', ['requires:', '  spi: newest'], 7, /newest is not a semver range/],
    [
      'a capability that does not exist',
      ['capabilities: [network.inbound]'],
      6,
      /there is no capability network.inbound/,
    ],
    [
      'a configuration schema with a typing error',
      ['config: { type: object, propertys: {} }'],
      6,
      /does not compile.*propertys/,
    ],
  ];
  for (const [title, lines, line, remark] of cases)
    test(title, async () => {
      const { code, rows } = await checked(await written(lines));
      assert.equal(code, 1);
      assert.deepEqual([...new Set(rows.map(({ check, outcome }) => `${check} ${outcome}`))], ['manifest FAIL']);
      assert.match(rows[0]?.remark ?? '', remark);
      assert.equal(rows[0]?.line, line);
    });

  test('a module that is not there', async () => {
    const home = await written([]);
    await rm(join(home, 'index.ts'));
    const { rows } = await checked(home);
    assert.deepEqual(
      rows.map(({ remark, line }) => [remark, line]),
      [['./index.ts does not exist', 5]],
    );
  });
});

test('a plugin runs at the three levels, in a thread and a process of its own', async () => {
  const contract = `import { serviceRef } from '@device-core/plugin-api';
export interface Where { where(): Promise<readonly [pid: number, thread: boolean]>; }
export const where = serviceRef<Where>('sample', '1.0.0');
`;
  const code = `import { isMainThread } from 'node:worker_threads';
import { definePlugin } from '@device-core/plugin-api';
import { where } from './where.ts';
export const plugin = definePlugin({
  setup: (host) => host.provide(where, { where: async () => [process.pid, isMainThread] as const }),
});
`;
  const testing = `import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTestHost } from '@device-core/plugin-api/testing';
import { plugin } from './index.ts';
import { where } from './where.ts';
test('where', async () => {
  await using host = await createTestHost(plugin, { manifest: join(import.meta.dirname, 'plugin.yaml') });
  const [pid, main] = await host.service(where).where();
  assert.equal([pid === process.pid, main].join(), 'no');
});
`;
  const home = await written(['provides: { sample: 1.0.0 }'], code, { 'where.ts': contract, 'where.test.ts': testing });
  const seen: (string | undefined)[] = [];
  for (const expected of ['true,true', 'true,false', 'false,true']) {
    await writeFile(join(home, 'where.test.ts'), testing.replace("'no'", `'${expected}'`));
    const { rows } = await checked(home);
    seen.push(rows.find(({ check, outcome }) => check.startsWith('tests') && outcome === 'PASS')?.check);
    assert.deepEqual(
      not(
        'PASS',
        rows.filter(({ check }) => !check.startsWith('tests')),
      ),
      [],
    );
  }
  // A level is not tried after one at which the tests fail.
  assert.deepEqual(seen, ['tests inline', undefined, undefined]);
});

test('levels that the manifest refuses, and those below its floor, are left out with its reason', async () => {
  const { rows } = await checked(await written(['isolation: worker', 'refuses: { process: it shares memory }']));
  assert.deepEqual(
    rows.filter(({ outcome }) => outcome === 'SKIP').map(({ check, remark }) => `${check}: ${remark}`),
    [
      'isolation inline: its manifest asks for worker at least',
      'isolation process: it shares memory',
      'minimal grants: judged by inline runs, and there is none',
    ],
  );
});

test('what is claimed and never used is warned of, line by line', async () => {
  const lines = [
    ...[
      'requires:',
      '  operations: ^1.0.0',
      '  device: ^1.0.0',
      'optional: { spi: ^1.0.0 }',
      'taps:',
      '  - health.collect',
    ],
    ...[
      '  - kernel.ready',
      'publishes:',
      '  - plugin.sample.idle',
      '  - system.**',
      'capabilities: [network.outbound]',
    ],
    ...INLINE,
  ];
  const code = `import { definePlugin, device, operations } from '@device-core/plugin-api';
export const plugin = definePlugin({
  requires: { operations, device },
  async setup(host, services) {
    await services.device.info();
    host.tap('health.collect', () => undefined);
    host.bus.publish('system.sample', {});
  },
});
`;
  const { code: exit, rows } = await checked(await written(lines, code));
  assert.equal(exit, 0);
  assert.deepEqual(
    rows.filter(({ check }) => check === 'minimal grants').map(({ outcome, line, remark }) => [outcome, line, remark]),
    [
      ['WARN', 7, 'requires operations, and never called it'],
      ['WARN', 9, 'never waits for spi by host.when()'],
      ['WARN', 12, 'never taps kernel.ready'],
      ['WARN', 14, 'never published within plugin.sample.idle'],
      ['WARN', 15, 'system.** is wider than what it published: system.sample'],
      ['WARN', 16, 'never needed network.outbound'],
    ],
  );
});

test('a network that is used without a claim is warned of, and one that is claimed is not', async () => {
  const code = `import { createServer } from 'node:net';
import { definePlugin } from '@device-core/plugin-api';
export const plugin = definePlugin({
  async setup(host) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host.scope.defer('server', () => void server.close());
  },
});
`;
  const greedy = await checked(await written(INLINE, code));
  assert.deepEqual(remarks(greedy.rows, 'minimal grants'), [
    'needed network.listen, which it does not claim; at level process it is refused',
  ]);
  const honest = await checked(await written(['capabilities: [network.listen]', ...INLINE], code));
  assert.deepEqual(remarks(honest.rows, 'minimal grants'), ['it used all that it claims']);
});

describe('code that is wrong', () => {
  test('a type error, a failing test and a disagreement with the manifest are told', async () => {
    const code = `import { definePlugin, spi } from '@device-core/plugin-api';
const count: number = 'one';
export const plugin = definePlugin({ requires: { spi }, setup: () => void count });
`;
    const failing = `import assert from 'node:assert/strict';
import { test } from 'node:test';
test('one is two', () => assert.equal(1, 2));
`;
    const { code: exit, rows } = await checked(
      await written(['requires: { bridge: ^1.0.0 }', ...INLINE], code, { 'sample.test.ts': failing }),
    );
    assert.equal(exit, 1);
    assert.match(remarks(rows, 'types').join(), /\nindex.ts\(2,7\): error TS2322/);
    assert.deepEqual(remarks(rows, 'manifest and code'), [
      'plugin sample requires spi, its manifest does not',
      'the manifest of sample requires bridge, the plugin does not',
    ]);
    assert.match(remarks(rows, 'tests inline').join(), /^they fail\nnot ok: one is two\n {2}Expected values/);
  });

  const cases: readonly (readonly [title: string, setup: string, remark: RegExp])[] = [
    ['a start that fails', "throw new Error('there is no board')", /^there is no board$/],
    ['a timer outside of the scope', 'setInterval(() => undefined, 1_000)', /^the suite leaves behind 2 Timeout$/],
    ['an error after the start', "host.scope.interval('poll', 10, () => { throw new Error('x'); })", /failed in poll/],
    ['an end of the process', 'process.exit(7)', /^it ended the process \(exit code 7\)/],
  ];
  for (const [title, setup, remark] of cases)
    test(title, async () => {
      const code = `import { definePlugin } from '@device-core/plugin-api';
export const plugin = definePlugin({ setup(host) { void host; ${setup}; } });
`;
      const { code: exit, rows } = await checked(await written(INLINE, code));
      assert.equal(exit, 1);
      assert.match(remarks(rows, 'start-stop-start inline').join(), remark);
    });

  test('a module without a plugin', async () => {
    const { rows } = await checked(await written(INLINE, 'export const plugins = {};\n'));
    assert.deepEqual(remarks(rows, 'start-stop-start inline'), ['it exports no `plugin` with setup()']);
  });
});

test('services that nobody fakes are stood in for, with a warning; fakes.ts fakes them, and brings the configuration', async () => {
  const lines = [
    'requires: { spi: ^1.0.0 }',
    'config: { type: object, required: [cs], properties: { cs: { type: integer } } }',
  ];
  const code = `import { definePlugin, type PluginHost, spi } from '@device-core/plugin-api';
export const plugin = definePlugin({
  requires: { spi },
  async setup(_host: PluginHost<{ readonly cs: number }>, services) {
    await services.spi.handles();
  },
});
`;
  const home = await written(lines, code);
  const bare = await checked(home);
  assert.match(remarks(bare.rows, 'start-stop-start inline').join(), /must have required property 'cs'/);
  await writeFile(join(home, 'fakes.ts'), 'export const config = { cs: 1 };\n');
  const stoodIn = await checked(home);
  assert.equal(stoodIn.code, 0);
  assert.match(
    remarks(stoodIn.rows, 'start-stop-start process').join(),
    /^with stand-ins .* for spi; export `services`/,
  );
  const fakes = `import { spi } from '@device-core/plugin-api';
export const config = { cs: 1 };
export const services = () => [[spi, { handles: async () => [] }]] as const;
`;
  await writeFile(join(home, 'fakes.ts'), fakes);
  const faked = await checked(home);
  assert.deepEqual([...new Set(not('PASS', faked.rows).map(({ remark }) => remark))], ['it has no tests']);
});

describe('the command', () => {
  test('prints a table as it goes and ends with a sum', async () => {
    const { stdout, code } = await devicectl(['plugin', 'check', await written(INLINE)]);
    assert.match(stdout, /^PASS {2}manifest {18}\S*plugin.yaml sample 1.0.0$/m);
    assert.match(stdout, /^SKIP {2}isolation worker {10}it is a test$/m);
    assert.match(stdout, /^passed: 0 failures, 1 warnings$/m);
    assert.equal(code, 0);
  });

  test('checks a plugin of the tree', async () => {
    const { rows } = await checked(join(ROOT, 'plugins/limits'));
    assert.deepEqual(
      rows.filter(({ outcome }) => outcome === 'FAIL'),
      [],
    );
    assert.deepEqual(remarks(rows, 'minimal grants'), ['it used all that it claims']);
  });

  test('a folder without a plugin is refused', async () => {
    const { stderr, code } = await devicectl(['plugin', 'check', folder]);
    assert.match(stderr, /USAGE: there is no plugin.yaml in /);
    assert.equal(code, 2);
  });
});
