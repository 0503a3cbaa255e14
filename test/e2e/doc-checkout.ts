import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from '../fixtures/eventually.ts';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));
const START_MS = 30_000;
/** An image is built, started twice and written; on a machine that has other things to do that takes a while. */
const COMMAND_MS = 300_000;
/** The last word of what the Core says when all of its plugins have started. */
const BANNER_END = 'Ctrl-C';
const OWN = new Set(['.git', '.device', 'package.json']);

/**
 * A folder that looks like the checkout (every entry is a link to the real one) with a state root of its own, so that the commands of the
 * documents run as they are printed. Only the port is another one, for 55280 may be taken.
 */
export class DocCheckout implements AsyncDisposable {
  readonly folder: string;
  readonly #port: number;
  #core: ChildProcess | undefined;
  #log = '';

  private constructor(folder: string, port: number) {
    this.folder = folder;
    this.#port = port;
  }

  static async create(): Promise<DocCheckout> {
    const folder = await mkdtemp(join(tmpdir(), 'dc-docs-'));
    for (const entry of await readdir(CHECKOUT))
      if (!OWN.has(entry)) await symlink(join(CHECKOUT, entry), join(folder, entry));
    // Without the installing step: node_modules is a link to the real one here.
    const manifest = JSON.parse(await readFile(join(CHECKOUT, 'package.json'), 'utf8'));
    manifest.scripts.setup = 'true';
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    return new DocCheckout(folder, await freePort());
  }

  async write(path: string, text: string): Promise<void> {
    const file = join(this.folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }

  read(path: string): Promise<string> {
    return readFile(join(this.folder, path), 'utf8');
  }

  /** Runs a command in bash; resolves with its standard output and rejects with all it printed. */
  run(command: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const script = this.#own(command);
      const options = { cwd: this.folder, env: this.#environment(), timeout: COMMAND_MS };
      execFile('bash', ['-euo', 'pipefail', '-c', script], options, (error, stdout, stderr) => {
        if (error) reject(new Error(`"${script.trim()}" failed\n${stdout}${stderr}\nThe Core said:\n${this.#log}`));
        else resolve(stdout);
      });
    });
  }

  /** What a document shows as TypeScript has to be as strict as the tree. Rejects with the errors. */
  async typeCheck(paths: readonly string[]): Promise<void> {
    const include = paths.filter((path) => path.endsWith('.ts'));
    if (include.length === 0) return;
    await this.write('doc.tsconfig.json', JSON.stringify({ extends: './tsconfig.json', include }));
    await this.run('npx tsc -p doc.tsconfig.json');
  }

  /**
   * Starts the command of a Core and resolves when the Core answers and has said that it is there, and its apps have started: a person types the next
   * line then. It answers before all of its plugins are there.
   */
  async start(command: string): Promise<void> {
    await this.stop();
    const words = this.#own(command).trim();
    const places = `--root .device --port ${this.#port}`;
    const script = words.startsWith('npm') && !words.includes(' -- ') ? `${words} -- ${places}` : `${words} ${places}`;
    this.#log = '';
    // A process group of its own: npm, its shell and the Core get the signal together, as from a terminal.
    const core = spawn('bash', ['-c', script], { cwd: this.folder, env: this.#environment(), detached: true });
    this.#core = core;
    for (const stream of [core.stdout, core.stderr])
      stream.on('data', (chunk) => {
        this.#log += chunk;
      });
    const answers = async () => core.exitCode !== null || (this.#log.includes(BANNER_END) && (await this.#answers()));
    const started = await eventually(answers, 'a Core', { ms: START_MS, every: 100 }).catch(() => false);
    if (!started || core.exitCode !== null) throw new Error(`"${script}" did not start a Core:\n${this.#log}`);
    if (!/ --app | app run /.test(words)) return;
    await eventually(() => this.#appsStarted(), 'the apps', { ms: START_MS, every: 100 });
    // Most apps register functions as soon as they run; one that has none is waited for a moment in vain.
    await eventually(() => this.#functions(), 'a function', { ms: 3_000, every: 100 }).catch(() => undefined);
  }

  async stop(): Promise<void> {
    const core = this.#core;
    this.#core = undefined;
    if (core?.pid === undefined || core.exitCode !== null || core.signalCode !== null) return;
    const closed = new Promise((resolve) => core.once('close', resolve));
    process.kill(-core.pid, 'SIGINT');
    const late = setTimeout(() => process.kill(-core.pid!, 'SIGKILL'), 10_000);
    await closed;
    clearTimeout(late);
  }

  async #answers(): Promise<boolean> {
    return (await this.#get('/version')) !== undefined;
  }

  async #appsStarted(): Promise<boolean> {
    const { apps = [] } = JSON.parse((await this.#get('/apps')) ?? '{}') as { apps?: readonly { state: string }[] };
    return apps.length > 0 && apps.every(({ state }) => state !== 'starting');
  }

  async #functions(): Promise<boolean> {
    const { functions = [] } = JSON.parse((await this.#get('/functions')) ?? '{}') as { functions?: readonly object[] };
    return functions.length > 0;
  }

  /** The body of an answer; undefined where there is none. */
  #get(path: string): Promise<string | undefined> {
    const command = `curl -sf --max-time 2 --unix-socket .device/run/core.sock http://localhost${path}`;
    return new Promise((resolve) => {
      execFile('bash', ['-c', command], { cwd: this.folder }, (error, stdout) => resolve(error ? undefined : stdout));
    });
  }

  #own(command: string): string {
    return command.replaceAll('55280', String(this.#port));
  }

  #environment(): NodeJS.ProcessEnv {
    // What the test runner puts there makes a node below it believe that it is a test.
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
    // What a page keeps at home is gone with the page.
    return { ...environment, HOME: join(this.folder, 'home') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
