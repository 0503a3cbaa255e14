/**
 * A simulated device for the desk of a developer: a Core of this checkout with a root of its own, which ends with the
 * command that began it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pause } from '@device-core/plugin-api/inside/program';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import { CoreClient } from '../program/client.ts';
import { Target } from '../program/target.ts';

const CHECKOUT = fileURLToPath(new URL('../../../../', import.meta.url));
const LOOK_MS = 25;
const START_MS = 60_000;
/** Time that the Core needs to end well, apps included. */
const STOP_MS = 20_000;
const MOST_SAID = 4_000;

export interface SimulatorOptions {
  /** Folder of the app that is tried. */
  readonly folder: string;
  /** Capabilities beyond class normal, by app. */
  readonly grants: Readonly<Record<string, readonly string[]>>;
  /** A folder to use and to keep; a temporary one, removed at the end, if absent. */
  readonly root?: string | undefined;
  /** Configuration of plugins, over that of the simulator's SKU. */
  readonly config?: Readonly<Record<string, object>>;
  /** Port of REST over TCP; no TCP if absent. */
  readonly port?: number | undefined;
  /** Receives its terminal output; kept for messages if absent. */
  readonly show?: (text: string) => void;
}

export class Simulator implements AsyncDisposable {
  readonly root: string;
  readonly client: CoreClient;
  readonly ended: Promise<number | string>;
  readonly #options: SimulatorOptions;
  readonly #child: ChildProcess;
  readonly #kept: boolean;
  #app = '';
  #said = '';
  #over = false;

  private constructor(options: SimulatorOptions) {
    this.#kept = options.root !== undefined;
    // A short path: those of Unix sockets end at 107 bytes.
    this.root = options.root ?? mkdtempSync(join(tmpdir(), 'app-'));
    mkdirSync(this.root, { recursive: true });
    this.#options = options;
    const sku = this.#writeSku(options.grants);
    const tcp = options.port === undefined ? ['--no-tcp'] : ['--port', String(options.port)];
    const args = [join(CHECKOUT, 'kernel/start.js'), '--sku', sku, '--root', this.root, ...tcp];
    this.#child = spawn(process.execPath, [...args, '--app', options.folder], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C is for the command, which then ends the Core in good order.
      detached: true,
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#said = (this.#said + text).slice(-MOST_SAID);
        options.show?.(text);
      });
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      this.#over = true;
      return code ?? signal;
    });
    this.client = new CoreClient(new Target({ root: this.root }));
  }

  /** How the Core calls the app: its id, or the name of a folder whose manifest it cannot read. */
  get app(): string {
    return this.#app;
  }

  /** Resolves when the Core answers and knows the app. Rejects with a Failure. */
  static async start(options: SimulatorOptions, signal: AbortSignal): Promise<Simulator> {
    const simulator = new Simulator(options);
    const kill = () => simulator.#child.kill('SIGKILL');
    process.once('exit', kill);
    void simulator.ended.then(() => process.off('exit', kill));
    try {
      await simulator.#settles(signal);
      return simulator;
    } catch (error) {
      await simulator[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Other grants from now on: the running device takes its SKU as it is written. */
  grant(grants: SimulatorOptions['grants']): void {
    this.#writeSku(grants);
  }

  #writeSku(grants: SimulatorOptions['grants']): string {
    // Another device may run in this root, which must not take this one's SKU for its own.
    const sku = join(this.root, `sku-${process.pid}.yaml`);
    const text = JSON.stringify(skuFor({ ...this.#options, grants }), null, 2);
    writeFileSync(`${sku}.new`, text);
    renameSync(`${sku}.new`, sku);
    return sku;
  }

  async #settles(signal: AbortSignal): Promise<void> {
    const end = performance.now() + START_MS;
    for (;;) {
      signal.throwIfAborted();
      if (this.#over || performance.now() > end) throw this.#silent();
      try {
        const { body } = await this.client.get('/apps', { timeoutMs: 5_000 });
        const [app] = body.apps as readonly { readonly id: string }[];
        this.#app = app?.id ?? '';
        if (app && this.#isIts()) return;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
      }
      await pause(LOOK_MS, signal);
    }
  }

  /** The Core that answers is this one: in a root that is kept another may run. */
  #isIts(): boolean {
    try {
      return readFileSync(join(this.root, 'run/core.pid'), 'utf8').trim() === String(this.#child.pid);
    } catch {
      return false; // not yet written
    }
  }

  #silent(): Failure {
    const why = this.#over ? 'it ended' : 'it does not answer';
    const last = this.#said.trim().split('\n').slice(-5).join('\n');
    return new Failure(EXIT.unreachable, 'UNAVAILABLE', `the simulated device did not start: ${why}: ${last}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    await this.ended;
    clearTimeout(limit);
    if (this.#kept) rmSync(join(this.root, `sku-${process.pid}.yaml`), { force: true });
    else rmSync(this.root, { recursive: true, force: true });
  }
}

/** The simulator's SKU with these grants. JSON is YAML. */
function skuFor({ grants, config = {} }: SimulatorOptions): object {
  const text = readFileSync(join(CHECKOUT, 'manifests/skus/simulator.yaml'), 'utf8');
  const sku = parseYaml(text).value as { plugins: Record<string, string | { config?: object }>; grants?: object };
  const plugins = { ...sku.plugins };
  for (const [id, more] of Object.entries(config)) {
    const line = plugins[id];
    if (line === undefined) continue;
    const whole = typeof line === 'string' ? { version: line } : line;
    plugins[id] = { ...whole, config: { ...(whole as { config?: object }).config, ...more } };
  }
  return { ...sku, plugins, grants: { ...sku.grants, ...grants } };
}
