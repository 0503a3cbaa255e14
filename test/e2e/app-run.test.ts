import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CoreProcess } from '../fixtures/core-process.ts';
import { eventually } from '../fixtures/eventually.ts';
import { FakeSsh } from '../fixtures/fake-ssh.ts';
import { devicectl, devicectlProcess, spawnDevicectl } from '../plugins/cli/run-devicectl.ts';

const folder = mkdtempSync(join(tmpdir(), 'ar-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** `devicectl app run` in a terminal. */
class Terminal implements AsyncDisposable {
  text = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown[]>;

  constructor(args: readonly string[]) {
    this.#child = spawnDevicectl(args);
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.text += text;
      });
    this.#ended = once(this.#child, 'close');
  }

  async shows(pattern: RegExp, from = 0): Promise<void> {
    const look = () => assert.match(this.text.slice(from), pattern) ?? true;
    await eventually(look, `${pattern}`, { ms: 30_000 });
  }

  async interrupt(): Promise<unknown> {
    this.#child.kill('SIGINT');
    const [code] = await this.#ended;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }
}

/** As most editors do. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text);
  renameSync(`${path}.tmp`, path);
}

test('an app runs with its log beside it, and each save takes effect', async () => {
  const [app, root] = [join(folder, 'hello'), join(folder, 'root')];
  assert.equal((await devicectl(['app', 'new', 'org.example.hello', '--lang', 'node', '--dir', app])).code, 0);
  await using terminal = new Terminal(['--root', root, 'app', 'run', app]);
  const ask = async (...words: string[]) => (await devicectl(['--root', root, ...words, '--json'])).stdout;
  await terminal.shows(/it runs/);
  await terminal.shows(/^app {3}ready$/m);
  assert.match(await ask('call', 'hello.greet', 'name=Ada'), /Hello, Ada!/);

  // A save that changes what it says.
  const greeting = join(app, 'greeting.js');
  const text = readFileSync(greeting, 'utf8');
  let from = terminal.text.length;
  writeFileSync(greeting, text.replace('!', '?'));
  await terminal.shows(/greeting\.js: runs again after \d+ ms/, from);
  await eventually(async () => /Hello, Ada\?/.test(await ask('call', 'hello.greet', 'name=Ada')), 'the new text');

  // One that breaks it is told, with the place; the next one mends it.
  from = terminal.text.length;
  writeFileSync(greeting, 'export function greet( {');
  await terminal.shows(/it (waits after a crash|is failed): .*SyntaxError/, from);
  for (const word of ['one', 'two', 'three']) {
    from = terminal.text.length;
    replaceFile(greeting, `${text}// ${word}\n`);
    await terminal.shows(/greeting\.js: runs again/, from);
  }

  // What the manifest claims from now on is granted.
  const manifest = join(app, 'app.yaml');
  writeFileSync(
    manifest,
    readFileSync(manifest, 'utf8').replace('capabilities: []', 'capabilities: [{ id: display.control, reason: dims }]'),
  );
  await terminal.shows(/app\.yaml: it is in order and in force/);
  await eventually(async () => {
    const { app: status } = JSON.parse(await ask('app', 'show', 'hello'));
    return status.state === 'running' && status.capabilities.includes('display.control');
  }, 'the new capability');

  // Files that no program reads do not restart it.
  from = terminal.text.length;
  mkdirSync(join(app, '__pycache__'));
  writeFileSync(join(app, '__pycache__/x.pyc'), '');
  appendFileSync(greeting, '// one more\n');
  await terminal.shows(/^greeting\.js: runs again/m, from);

  const second = await devicectlProcess(['--root', root, 'app', 'run', app]);
  assert.equal(second.code, 3);
  assert.match(second.stderr, /did not start.*ALREADY_RUNNING/s);
  assert.match(await ask('app', 'show', 'hello'), /"running"/, 'the first one goes on');

  assert.equal(await terminal.interrupt(), 0);
  assert.ok(existsSync(join(root, 'var')), 'a root that was named is kept');
  assert.deepEqual(
    readdirSync(root).filter((name) => name.endsWith('.yaml')),
    [],
  );
});

test('an app that cannot be run is told, and is tried again at the next save', async () => {
  const [app, root] = [join(folder, 'broken'), join(folder, 'root-2')];
  assert.equal((await devicectl(['app', 'new', 'org.example.broken', '--lang', 'node', '--dir', app])).code, 0);
  const main = join(app, 'main.js');
  const text = readFileSync(main, 'utf8');
  writeFileSync(main, "throw new Error('not today');\n");
  await using terminal = new Terminal(['--root', root, 'app', 'run', app]);
  await terminal.shows(/it waits after a crash: .*not today/);
  writeFileSync(main, text);
  await terminal.shows(/main\.js: runs again/);
  assert.equal(await terminal.interrupt(), 0);
});

test('an app is tried on a device that ssh reaches: each save, its log, what it may do, until its end', async () => {
  const [app, root] = [join(folder, 'guest'), join(folder, 'device')];
  mkdirSync(root);
  await using _core = await CoreProcess.start(root);
  using ssh = new FakeSsh();
  mkdirSync(ssh.remote('/run'), { recursive: true });
  symlinkSync(join(root, 'run'), ssh.remote('/run/device'));
  const there = ['--device', 'ssh://pi@kitchen.local'];
  assert.equal((await devicectl(['app', 'new', 'org.example.guest', '--lang', 'node', '--dir', app])).code, 0);
  {
    await using terminal = new Terminal([...there, 'app', 'try', app, '--grant', 'display.control']);
    await terminal.shows(/it runs/);
    const greeting = join(app, 'greeting.js');
    const text = readFileSync(greeting, 'utf8');
    let from = terminal.text.length;
    replaceFile(greeting, text.replace('!', '?'));
    await terminal.shows(/greeting\.js: runs again after \d+ ms/, from);
    await terminal.shows(/stopped: its files changed/, from);
    await terminal.shows(/^app {3}ready$/m, from);
    const said = async () => (await devicectl([...there, 'call', 'guest.greet', 'name=Ada', '--json'])).stdout;
    await eventually(async () => /Hello, Ada\?/.test(await said()), 'the new text');
    // A mistake in app.yaml is told with the name of the file; what ran goes on, and the next save is told as well.
    const manifest = readFileSync(join(app, 'app.yaml'), 'utf8');
    from = terminal.text.length;
    writeFileSync(join(app, 'app.yaml'), manifest.replace('capabilities:', 'capabilites:'));
    await terminal.shows(/app\.yaml: .*manifest app\.yaml:\d+ is not valid.*did you mean capabilities/, from);
    from = terminal.text.length;
    replaceFile(join(app, 'app.yaml'), manifest);
    await terminal.shows(/app\.yaml: in order again, and as it runs/, from);
    // Half a save is no package: what ran goes on.
    from = terminal.text.length;
    symlinkSync('/etc/passwd', join(app, 'link'));
    await terminal.shows(/link: .*it is a link/, from);
    assert.match(await said(), /Hello, Ada\?/);
    rmSync(join(app, 'link'));
    assert.equal(await terminal.interrupt(), 0);
  }
  // Ctrl-C ends the trial; with --once it goes on until it is ended, from any folder.
  assert.doesNotMatch((await devicectl([...there, 'app', 'list'])).stdout, /org\.example\.guest/);
  const once = await devicectl([...there, 'app', 'try', app, '--once']);
  assert.equal(once.code, 0, once.stderr);
  const health = await devicectl([...there, 'status']);
  assert.equal(health.code, 0, health.stderr);
  assert.match(health.stdout, /APP_TRIED: app org\.example\.guest is tried/);
  assert.match((await devicectl([...there, 'logs', '--app', 'org.example.guest'])).stdout, /ready/);
  const nameless = await devicectl([...there, 'app', 'try', '--stop']);
  assert.equal(nameless.code, 2);
  assert.match(nameless.stderr, /name the app: devicectl app forget ID/);
  const stopped = await devicectl([...there, 'app', 'try', 'org.example.guest', '--stop']);
  assert.equal(stopped.code, 0, stopped.stderr);
  assert.doesNotMatch((await devicectl([...there, 'app', 'list'])).stdout, /org\.example\.guest/);
});
