/** Costs a simulated device for each case, as it does an author. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { appFilesOf } from '@device-core/plugin-api/inside/packages';
import { stringify } from 'yaml';
import { BEST_WALLS } from '../../kernel/walls/launcher.ts';
import { type AppLanguage, LANGUAGE_NAMES } from '../../plugins/interface/cli/scaffold/app.ts';
import { without } from '../fixtures/debian.ts';
import { devicectl, devicectlProcess } from '../plugins/cli/run-devicectl.ts';

const SKIP: Readonly<Record<AppLanguage, string | false>> = {
  node: false,
  python: without('python3'),
  static: without('make', 'gcc'),
};

const folder = mkdtempSync(join(tmpdir(), 'ac-'));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Report {
  readonly code: number | null;
  readonly ok: boolean;
  readonly steps: readonly { readonly step: string; readonly state: string; readonly message: string }[];
  readonly claims: readonly { readonly capability: string; readonly verdict: string }[];
  readonly minimal: readonly { readonly id: string }[];
}

async function check(dir: string): Promise<Report> {
  const { code, stdout, stderr } = await devicectlProcess(['app', 'check', dir, '--json']);
  assert.notEqual(stdout, '', stderr);
  return { code, ...JSON.parse(stdout) };
}

const of = ({ steps }: Report, wanted: string) =>
  steps.filter(({ step }) => step === wanted).map(({ state, message }) => `${state}: ${message}`);
const leftovers = () => readdirSync(tmpdir()).filter((name) => /^app-\w{6}$/.test(name));

describe('a new app passes at once', () => {
  for (const lang of LANGUAGE_NAMES)
    test(`in ${lang}`, { skip: SKIP[lang] }, async () => {
      const dir = join(folder, lang);
      const voice = lang === 'python' ? ['--voice'] : [];
      const begun = await devicectl(['app', 'new', `org.example.${lang}`, '--lang', lang, '--dir', dir, ...voice]);
      assert.equal(begun.code, 0, begun.stderr);
      const report = await check(dir);
      const troubled = report.steps.filter(({ step, state }) => step !== 'sandbox' && state !== 'ok');
      assert.deepEqual([report.code, report.ok, troubled], [0, true, []]);
      const order = ['package', 'manifest', 'sandbox', 'start', 'functions', 'calls', 'ping', 'stop'];
      assert.deepEqual(
        report.steps.map(({ step }) => step),
        [...order, 'start again', 'stop again', 'claims', 'memory'],
      );
    });
});

test('a new app in Node keeps its library when npm installs something, and a clone gets it by `npm install`', async () => {
  const dir = join(folder, 'installs');
  const begun = await devicectl(['app', 'new', 'org.example.installs', '--lang', 'node', '--dir', dir]);
  assert.equal(begun.code, 0, begun.stderr);
  const other = join(folder, 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'package.json'), '{ "name": "other", "version": "1.0.0", "main": "index.js" }');
  writeFileSync(join(other, 'index.js'), 'exports.other = 1;');
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const run = (command: string, ...args: string[]) => {
    const { status, stderr, stdout } = spawnSync(command, args, { cwd: dir, env, encoding: 'utf8' });
    assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}${stdout}`);
    return stdout;
  };
  const npm = (...args: string[]) => run('npm', ...args, '--offline', '--no-audit', '--no-fund');
  const library = ['-e', "import('@device-core/app').then(({ connectApp }) => console.log(typeof connectApp))"];
  npm('install', '--install-links', other);
  assert.equal(run(process.execPath, ...library), 'function\n');
  rmSync(join(dir, 'node_modules'), { recursive: true });
  npm('install', '--install-links');
  assert.equal(run(process.execPath, ...library), 'function\n');
  const paths = await appFilesOf(dir, 1_000);
  assert.ok(paths.includes('node_modules/@device-core/app/package.json'));
  assert.ok(paths.includes('node_modules/other/index.js'));
  assert.deepEqual(
    paths.filter((path) => /\.tgz$|package-lock/.test(path)),
    [],
  );
});

const CONNECT = "const core = require('node:net').connect(process.env.DEVICE_RPC_SOCKET);";
/** Answers every ping, and ends with its connection. */
const LIVE = `${CONNECT}
let rest = '';
const send = (message) => core.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
core.setEncoding('utf8').on('data', (text) => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (method === 'READY') ready();
    else if (method === 'x.call') send({ id, result: { wrong: 1 } });
    else if (id !== undefined && method) send({ id, result: {} });
    else if (method === 'stop') core.end();
  }
});
core.on('close', () => process.exit());
`;
const CALLS = [
  { id: 1, method: 'SPI_transfer_txrx', params: { handle: 'flash', tx: 'nw==', rxLen: 4 } },
  { id: 2, method: 'spi.transfer', params: { handle: 'flash', tx: 'nw==', rxLen: 4 } },
  { id: 3, method: 'events.publish', params: { topic: 'app.org.example.case.event.x', payload: {}, priority: 'high' } },
];

interface Case {
  readonly program: string;
  readonly manifest?: object;
  readonly prepare?: (dir: string) => void;
  readonly verify: (report: Report) => void;
}

const CASES: Readonly<Record<string, Case>> = {
  'a manifest with a typo is told with its line': {
    program: LIVE,
    manifest: { capabilites: [] },
    verify(report) {
      assert.match(of(report, 'manifest').join(), /^failed: .*app\.yaml:\d+.*did you mean capabilities\?/);
      assert.equal(report.steps.at(-1)?.step, 'manifest', 'nothing is started');
    },
  },
  'one that ends at once says why, with the line of its code': {
    program: "throw new Error('no such luck');",
    verify: (report) => assert.match(of(report, 'start').join(), /^failed: it ended with code 1.*no such luck/),
  },
  'one that is never ready': {
    program: 'setInterval(() => {}, 1e6);',
    manifest: { lifecycle: { startTimeoutMs: 300 } },
    verify: (report) => assert.match(of(report, 'start').join(), /^failed: it was not ready after/),
  },
  'one that leaves a ping unanswered, and has to be killed': {
    program: `${CONNECT} process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6);`,
    manifest: { lifecycle: { stopTimeoutMs: 200 } },
    verify: (report) => assert.match(of(report, 'ping').join(), /^failed: .*(hangs|ping)/),
  },
  'one that has to be killed': {
    program: `${LIVE.replace('core.end()', 'void 0').replace("core.on('close', () => process.exit());", '')}
      function ready() {} process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6);`,
    manifest: { lifecycle: { stopTimeoutMs: 300 } },
    verify(report) {
      assert.equal(report.ok, true, 'a warning');
      assert.match(of(report, 'stop').join(), /^warning: it had to be killed after 300 ms/);
    },
  },
  'claims that are idle, wide and missing, and memory over its budget': {
    program: `${LIVE} function ready() { for (const call of ${JSON.stringify(CALLS)}) send(call); }`,
    manifest: {
      capabilities: [
        { id: 'display.notify', reason: 'it seemed a good idea' },
        { id: 'bridges.spi', reason: 'reads the chip' },
        { id: 'network.outbound', reason: 'the weather' },
      ],
      resources: { memoryMaxMB: 20 },
    },
    verify(report) {
      assert.deepEqual(
        report.claims.map(({ verdict }) => verdict),
        ['idle', 'wide', 'unseen'],
      );
      assert.deepEqual(
        report.minimal.map(({ id }) => id),
        ['bridges.spi:flash', 'network.outbound', 'events.publish.high'],
      );
      assert.deepEqual(
        of(report, 'claims').map((line) => line.replace(/app\.yaml:\d+/, 'LINE')),
        [
          'warning: LINE: display.notify was never needed',
          'warning: LINE: bridges.spi: bridges.spi:flash would do',
          'skipped: LINE: network.outbound: the sandbox opens it, so its use was not seen',
          'failed: it was refused events.publish.high, which app.yaml does not claim',
        ],
      );
      assert.match(of(report, 'memory').join(), /^failed: .* of its budget of 20 MB/);
    },
  },
  'a link in its package, a sentence that is none, and an answer that is not what it declared': {
    program: `${LIVE} function ready() {}`,
    manifest: {
      capabilities: [{ id: 'audio.intent', reason: 'it is called' }],
      functions: [
        { name: 'x.call', version: '1.0.0', returns: { text: 'string' }, idempotent: true },
        { name: 'x.said', version: '1.0.0', inputs: { name: 'string' }, utterances: ['say {nome}'] },
      ],
    },
    prepare: (dir) => symlinkSync('/etc/passwd', join(dir, 'link')),
    verify(report) {
      assert.match(of(report, 'package').join(), /^failed: .*link.*it is a link/);
      assert.match(of(report, 'functions').join(), /^failed: function x\.said: .*slot \{nome\} is not an input/);
      assert.match(of(report, 'calls').join(), /^failed: x\.call \{\}: /);
    },
  },
  'members that this Core has no use for are a warning, and packages that are not installed a failure': {
    program: `${LIVE} function ready() {}`,
    manifest: { ui: { settings: true }, update: { channel: 'stable' } },
    prepare: (dir) => writeFileSync(join(dir, 'package.json'), '{ "dependencies": { "ms": "*", "@other/one": "*" } }'),
    verify(report) {
      assert.match(of(report, 'manifest').join('\n'), /^ok: .*\nwarning: update: this Core looks for no new versions/);
      assert.deepEqual(of(report, 'functions'), ['skipped: 0 in app.yaml']);
      assert.match(of(report, 'package').join(), /^failed: package\.json needs ms, @other\/one.*run "npm install"/);
    },
  },
};

describe('a mistake is told, and the exit status is 1', () => {
  for (const [title, { program, manifest = {}, prepare, verify }] of Object.entries(CASES))
    test(title, async () => {
      const dir = join(folder, `case-${Object.keys(CASES).indexOf(title)}`);
      mkdirSync(dir);
      const whole = {
        manifestVersion: 1,
        id: 'org.example.case',
        name: 'case',
        version: '1.0.0',
        title: 'Case',
        exec: { command: 'node', args: ['main.cjs'] },
        capabilities: [],
        ...manifest,
      };
      writeFileSync(join(dir, 'app.yaml'), stringify(whole));
      writeFileSync(join(dir, 'main.cjs'), program);
      prepare?.(dir);
      const report = await check(dir);
      assert.equal(report.code, report.ok ? 0 : 1);
      verify(report);
    });
});

test('without walls the check runs as well, and names the walls that are not enforced', async () => {
  const dir = join(folder, 'bare');
  mkdirSync(dir);
  writeFileSync(join(dir, 'main.cjs'), `${LIVE} function ready() {}`);
  const exec = { command: 'node', args: ['main.cjs'] };
  writeFileSync(
    join(dir, 'app.yaml'),
    stringify({
      manifestVersion: 1,
      id: 'org.example.bare',
      name: 'bare',
      version: '1.0.0',
      title: 'B',
      exec,
      capabilities: [],
    }),
  );
  process.env[BEST_WALLS] = 'none';
  try {
    const report = await check(dir);
    assert.match(of(report, 'sandbox').join(), /^warning: not all of it is enforced here: .*files: none/);
    assert.equal(report.ok, true);
  } finally {
    delete process.env[BEST_WALLS];
  }
});

test('no capabilities are advised for an app that could not be started', async () => {
  const dir = join(folder, 'invalid');
  mkdirSync(dir);
  const whole = { manifestVersion: 1, id: 'org.example.invalid', name: 'IN', version: '1.0.0', title: 'I' };
  writeFileSync(join(dir, 'app.yaml'), stringify({ ...whole, exec: { command: 'true' }, capabilities: [] }));
  const { code, stdout } = await devicectl(['app', 'check', dir]);
  assert.equal(code, 1);
  assert.match(stdout, /failed {3}manifest {5}MANIFEST_INVALID: .*name must match/);
  assert.doesNotMatch(stdout, /what would have done/);
});

test('a folder that is no app is wrong usage, and nothing is left behind', async () => {
  const before = leftovers();
  const empty = join(folder, 'empty');
  mkdirSync(empty);
  for (const [dir, message] of [
    [join(folder, 'nowhere'), /there is no folder/],
    [empty, /is not the folder of an app: cannot read its app\.yaml: ENOENT/],
  ] as const) {
    const ended = await devicectl(['app', 'check', dir]);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, message);
  }
  assert.deepEqual(leftovers(), before);
});
