import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { API_VERSION } from '@device-core/plugin-api';
import { CORE_VERSION } from '../../kernel/composition.ts';
import { eventually } from '../fixtures/eventually.ts';

const MAIN = join(import.meta.dirname, '../../kernel/start.js');
const folder = mkdtempSync(join(tmpdir(), 'dm-'));
after(() => rmSync(folder, { recursive: true }));

interface Running {
  readonly process: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  readonly ended: Promise<number | string>;
}

function core(...args: string[]): Running {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'], cwd: folder });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  return { process: child, out: () => out, err: () => err, ended };
}

async function shows(running: Running, text: string): Promise<void> {
  const said = () => `${running.out()}\n${running.err()}`;
  await eventually(() => {
    if (running.process.exitCode !== null) throw new Error(said());
    assert.ok(running.out().includes(text), said());
    return true;
  }, text);
}

/** A SKU of one plugin outside the tree whose module is given as text. */
function sku(name: string, module: string, manifest = ''): string {
  const at = join(folder, name);
  mkdirSync(at, { recursive: true });
  writeFileSync(join(at, 'index.js'), module);
  const head = `id: ${name}\nversion: 1.0.0\nsummary: for a test\napi: ^1.0.0\nmain: index.js\n${manifest}`;
  writeFileSync(join(at, 'plugin.yaml'), head);
  const file = join(folder, `${name}.yaml`);
  const line = `{ version: ^1.0.0, path: ${name}, isolation: inline }`;
  writeFileSync(file, `skuVersion: 1\nid: test\ntitle: Test device\nplugins:\n  ${name}: ${line}\n`);
  return file;
}

test('a start that went well is kept for the next one; safe mode neither makes nor reads it', async () => {
  const quiet = sku('quiet', 'export const plugin = { setup: () => undefined };');
  for (const [root, args, kept] of [
    ['keeps', ['--sku', quiet], true],
    ['saved', ['--safe-mode', '--no-tcp'], false],
  ] as const) {
    const running = core(...args, '--root', join(folder, root));
    await shows(running, 'Ctrl-C');
    running.process.kill('SIGTERM');
    assert.equal(await running.ended, 0);
    assert.equal(existsSync(join(folder, root, 'var/cache/known-good')), kept, root);
  }
});

test('the Core starts, says so, refuses a second one on its root, and stops on a signal', async () => {
  const module = `
    import { CoreError, definePlugin } from '@device-core/plugin-api';
    export const plugin = definePlugin({
      setup: (host) => host.scope.defer('farewell', () => console.log('released', typeof CoreError)),
    });`;
  const file = sku('polite', module);
  const root = join(folder, 'root');
  const first = core('--sku', file, '--root', root);
  await shows(first, 'Ctrl-C');
  assert.match(first.out(), /^Test device \(SKU test\) is up: 1 of 1 plugins active\n {2}plugins {3}polite\n/);
  assert.match(first.err(), /^Test device starts: 1 plugins\n/, 'a start is not silent');
  assert.equal(readFileSync(join(root, 'run/core.pid'), 'utf8'), `${first.process.pid}\n`);

  const second = core('--sku', file, '--root', root);
  assert.equal(await second.ended, 3);
  const [refusal, hint] = second.err().split('\n');
  assert.equal(refusal, `ALREADY_RUNNING: another Core (process ${first.process.pid}) runs on root`);
  assert.match(hint ?? '', /stop that one .*--root DIR --port N/);
  const elsewhere = core('--sku', file, '--root', join(folder, 'other'));
  await shows(elsewhere, 'Ctrl-C');

  for (const running of [first, elsewhere]) running.process.kill('SIGTERM');
  assert.deepEqual([await first.ended, await elsewhere.ended], [0, 0]);
  assert.match(first.out(), /released function/);
  assert.equal(existsSync(join(root, 'run/core.pid')), false);
});

test('a fault beside active plugins is printed after the banner, with the command that shows it; else nothing is printed', async () => {
  const says = (health: string) => `
    import { definePlugin } from '@device-core/plugin-api';
    export const plugin = definePlugin({
      setup: (host) => host.tap('health.collect', (report) => { ${health} }),
    });`;
  const ill = "report.add(host.id, { status: 'error', message: 'no board' }); report.add('x', { status: 'okay' });";
  const file = sku('ill', says(ill), 'taps: [health.collect]\n');
  const running = core('--sku', file, '--root', join(folder, 'ill-root'));
  await shows(running, 'ill: no board');
  assert.match(running.out(), /is up: 1 of 1 plugins active\n/);
  assert.match(
    running.out(),
    /\n {2}health {4}degraded; see: npm run -s devicectl -- --root \S+ status\n {12}ill: no board\n$/,
  );
  const silent = core(
    '--sku',
    sku('silent', says('throw new Error("x");'), 'taps: [health.collect]\n'),
    '--root',
    join(folder, 's'),
  );
  await shows(silent, 'probes: ');
  const well = core(
    '--sku',
    sku('well', says('console.log("asked")'), 'taps: [health.collect]\n'),
    '--root',
    join(folder, 'w'),
  );
  await shows(well, 'asked');
  for (const one of [running, silent, well]) one.process.kill('SIGTERM');
  assert.deepEqual([await running.ended, await silent.ended, await well.ended], [0, 0, 0]);
  assert.doesNotMatch(well.out(), /health {2}/);
});

test('a Core that hangs keeps its root all the same, and is named to the next one', async () => {
  const file = sku('hung', 'export const plugin = { setup: () => undefined };');
  const root = join(folder, 'hung-root');
  const first = core('--sku', file, '--root', root);
  await shows(first, 'Ctrl-C');
  first.process.kill('SIGSTOP');
  const second = core('--sku', file, '--root', root);
  assert.equal(await second.ended, 3);
  assert.match(second.err(), new RegExp(`another Core \\(process ${first.process.pid}\\) runs on`));
  first.process.kill('SIGKILL');
  await first.ended;
});

test('files of a killed Core do not keep the next one from its root', async () => {
  const file = sku('short', 'export const plugin = { setup: () => undefined };');
  const root = join(folder, 'killed');
  const first = core('--sku', file, '--root', root);
  await shows(first, 'Ctrl-C');
  first.process.kill('SIGKILL');
  await first.ended;
  // A process id that is alive, as after a reboot.
  writeFileSync(join(root, 'run/core.pid'), `${process.pid}\n`);
  const second = core('--sku', file, '--root', root);
  await shows(second, 'Ctrl-C');
  second.process.kill('SIGINT');
  assert.equal(await second.ended, 0);
});

test('of many that start at once on one root, one runs', async () => {
  const file = sku('race', 'export const plugin = { setup: () => undefined };');
  const root = join(folder, 'race-root');
  const all = [1, 2, 3, 4].map(() => core('--sku', file, '--root', root));
  const losers = await Promise.all(
    all.map((one) => Promise.race([one.ended, shows(one, 'Ctrl-C').catch(() => one.ended)])),
  );
  assert.deepEqual(losers.filter((code) => code === 3).length, 3);
  for (const one of all) one.process.kill('SIGTERM');
  await Promise.all(all.map((one) => one.ended));
});

test('a second signal ends a Core whose plugin does not let go', async () => {
  const module = `export const plugin = { setup: (host) => host.scope.defer('stuck', () => {
    console.log('never lets go');
    return new Promise(() => setInterval(() => undefined, 1000));
  }) };`;
  const running = core('--sku', sku('stuck', module), '--root', join(folder, 'stuck-root'));
  await shows(running, 'Ctrl-C');
  running.process.kill('SIGINT');
  await shows(running, 'never lets go');
  running.process.kill('SIGINT');
  assert.equal(await running.ended, 130);
});

test('an error that escapes a plugin restarts it; one of no plugin ends the Core with 70', async () => {
  const module = `
    let starts = 0;
    export const plugin = { setup(host) {
      console.log('start', ++starts);
      if (starts === 1) setTimeout(() => Promise.reject(new Error('escaped')), 10);
      if (starts === 2) setTimeout(() => { const e = new Error('alien'); e.stack = 'alien'; throw e; }, 50);
    } };`;
  const running = core('--sku', sku('leaky', module), '--root', join(folder, 'leaky-root'));
  assert.equal(await running.ended, 70);
  assert.match(running.out(), /start 2/);
  assert.match(running.err(), /escaped[\s\S]*unhandled error: alien/);
});

test('a SKU that cannot run ends with 1, a wrong command line with 2, each saying why', async () => {
  const bad = join(folder, 'bad.yaml');
  writeFileSync(bad, 'skuVersion: 2\nid: test\ntitle: Test\nplugins: {}\n');
  const cases: [args: string[], status: number, text: RegExp][] = [
    [['--sku', bad, '--root', join(folder, 'r1')], 1, /^bad\.yaml:1: SKU_INVALID skuVersion must be 1\n$/],
    [['check', bad], 1, /^bad\.yaml:1: SKU_INVALID skuVersion must be 1\n$/],
    [['--port', '99999'], 2, /^--port takes 0 to 65535, not 99999\n\nusage:/],
    [['--set', 'nonsense'], 2, /--set takes plugin.key=json/],
    [['--colour'], 2, /usage:/],
    [['frobnicate'], 2, /there is no command frobnicate/],
    [['check'], 2, /check takes one SKU file/],
    [['--help'], 0, /^usage:/],
    [['--version'], 0, /^device-core \d/],
    [['--system'], 2, /--system needs CONFIGURATION_DIRECTORY/],
  ];
  await Promise.all(
    cases.map(async ([args, status, text]) => {
      const running = core(...args);
      assert.equal(await running.ended, status, args.join(' '));
      assert.match(running.out() + running.err(), text);
    }),
  );
});

test('check --json is for programs, and a SKU that is fine says so', async () => {
  const file = sku('fine', 'throw new Error("plugin code was run");');
  const [words, json] = [core('check', file), core('check', file, '--json')];
  assert.deepEqual([await words.ended, await json.ended], [0, 0]);
  assert.equal(words.out(), 'fine.yaml: SKU test is fine, 1 plugins\n');
  const { ok, problems, resolved } = JSON.parse(json.out());
  assert.deepEqual({ ok, problems }, { ok: true, problems: [] });
  const at = (line: number) => ({ file, line });
  assert.deepEqual(
    { ...resolved, services: Object.keys(resolved.services) },
    {
      file,
      files: [file],
      checkout: join(import.meta.dirname, '../..'),
      core: CORE_VERSION,
      api: API_VERSION,
      node: process.versions.node,
      removed: [],
      services: ['device', 'grants', 'plugin-manager', 'event-bus', 'processes', 'launcher', 'log-control'],
      sku: {
        skuVersion: 1,
        id: 'test',
        title: 'Test device',
        plugins: { fine: { version: '^1.0.0', path: 'fine', isolation: 'inline' } },
      },
      set: ['skuVersion', 'id', 'title'].map((name, index) => ({ path: [name], ...at(index + 1) })),
      plugins: [
        {
          id: 'fine',
          version: '1.0.0',
          summary: 'for a test',
          file: join(folder, 'fine/plugin.yaml'),
          main: join(folder, 'fine/index.js'),
          tree: false,
          isolation: 'inline',
          essential: false,
          enabled: true,
          provides: {},
          requires: {},
          optional: {},
          capabilities: [],
          budget: {},
          config: {},
          at: at(5),
          set: ['version', 'path', 'isolation'].map((name) => ({ path: [name], ...at(5) })),
        },
      ],
    },
  );
});

test('--log - writes JSON lines to stdout, and a failed plugin is told there and on stderr', async () => {
  const file = sku('broken', 'export const plugin = { setup: () => { throw new Error("no board"); } };');
  const running = core('--sku', file, '--root', join(folder, 'broken-root'), '--log', '-');
  await shows(running, 'Ctrl-C');
  running.process.kill('SIGTERM');
  assert.equal(await running.ended, 0);
  const line = running
    .out()
    .split('\n')
    .find((one) => one.includes('no board') && one.startsWith('{'));
  assert.equal(JSON.parse(line ?? '{}').err.code, 'PLUGIN_START_FAILED');
  assert.match(running.err(), /^error: plugin broken failed to start: no board \(index\.[jt]s:\d+\)$/m);
  assert.match(
    running.out(),
    /degraded: 0 of 1 plugins active\n {2}failed {4}broken: plugin broken failed to start: no board \(index\.[jt]s:\d+\)/,
  );
});
