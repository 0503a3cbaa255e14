/** A Core in a process of its own, of any checkout: what its start costs, when it first answers, and what it takes when it is there. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Checkout, entryOf, writeSku } from './checkout.ts';
import type { Confinement } from './confine.ts';
import { cpuOfDevice } from './process-tree.ts';

const START_MS = 120_000;
/** Five seconds after its start a Core writes its compile cache; it is there, and all else has settled, after these. */
export const SETTLE_MS = 20_000;
const LOOK_MS = 10;

/** Since exec, in microseconds. */
export interface Moment {
  readonly cpu: number;
  readonly wall: number;
}

export interface Start {
  /** The first whole answer to `GET /health`; where nobody asks, the same as `ready`. */
  readonly health: Moment;
  readonly ready: Moment;
}

export interface InstallationOptions {
  readonly confinement?: Confinement | undefined;
  /** Plugins of the SKU that are left out. */
  readonly without?: readonly string[];
}

interface StartOptions {
  readonly node?: readonly string[];
  /** Whether `/health` is asked for from the first moment on. */
  readonly asked?: boolean;
}

/** A root folder with a SKU, whose compile cache is warm after the first start. */
export class Installation implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'db-'));
  readonly checkout: Checkout;
  /** Plugins of the SKU that the checkout does not have. */
  readonly missing: readonly string[];
  readonly #confinement: Confinement | undefined;
  readonly #sku: string;

  /** `sku` is the name of a file in skus/, or a path that ends in `.yaml`. */
  constructor(checkout: Checkout, sku: string, { confinement, without }: InstallationOptions = {}) {
    this.checkout = checkout;
    this.#sku = join(this.root, 'bench.yaml');
    this.missing = writeSku(sku, checkout, this.#sku, without);
    this.#confinement = confinement;
  }

  /** `node` are options of Node. A device that nobody asks loads less. */
  async start({ node = [], asked = true }: StartOptions = {}): Promise<Device> {
    const main = [...node, entryOf(this.checkout), '--sku', this.#sku, '--root', this.root, '--no-tcp'];
    const [program, ...args] = [...(this.#confinement?.command ?? []), process.execPath, ...main];
    return await Device.start(program!, args, { socket: join(this.root, 'run/core.sock'), asked });
  }

  /** The first start, as an image is made with one: until its compile cache is written. */
  async warm(): Promise<void> {
    await using device = await this.start();
    await sleep(SETTLE_MS / 2);
    await device.stop();
    if (!existsSync(join(this.root, 'var/cache/compile'))) throw new Error('the Core has written no compile cache');
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

interface Front {
  /** The shared Unix socket of the Core. */
  readonly socket: string;
  readonly asked: boolean;
}

export class Device implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly socket: string;
  readonly start: Start;

  private constructor(child: ChildProcess, socket: string, start: Start) {
    this.#process = child;
    this.socket = socket;
    this.start = start;
  }

  /** Resolves when it is ready; kills it where that does not come. */
  static async start(program: string, args: readonly string[], { socket, asked }: Front): Promise<Device> {
    rmSync(socket, { force: true }); // of the start before
    const from = performance.now();
    const env = { ...process.env };
    delete env.NODE_COMPILE_CACHE; // it would take the place of the Core's own
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const moment = (): Moment => ({ cpu: cpuOfDevice(child.pid!), wall: (performance.now() - from) * 1000 });
    const over = new AbortController();
    try {
      const [ready, health] = await Promise.all([
        said(child, 'Ctrl-C').then(moment),
        asked ? firstHealth(socket, over.signal).then(moment) : undefined,
      ]);
      return new Device(child, socket, { health: health ?? ready, ready });
    } catch (error) {
      over.abort();
      child.kill('SIGKILL');
      throw error;
    }
  }

  get pid(): number {
    return this.#process.pid!;
  }

  /** As the operator. */
  async get(path: string): Promise<Record<string, unknown>> {
    const text = await answerOf(this.socket, path);
    if (text === undefined) throw new Error(`no answer to ${path}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill(signal);
    await gone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** Resolves at once when the process has printed it; what it prints later is thrown away. */
function said(child: ChildProcess, text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const limit = setTimeout(() => reject(new Error(`the Core did not say ${text} in ${START_MS} ms`)), START_MS);
  let [out, err] = ['', ''];
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    if (!out.includes(text)) out += chunk;
    if (out.includes(text)) resolve();
  });
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    err = (err + chunk).slice(-4_096);
  });
  child.once('error', reject);
  child.once('exit', () => reject(new Error(`the Core ended at its start: ${out}${err}`)));
  return promise.finally(() => clearTimeout(limit));
}

/** Asks again and again, as a supervisor does, until there is a whole answer that says how the device is. */
async function firstHealth(socket: string, signal: AbortSignal): Promise<void> {
  for (const end = performance.now() + START_MS; performance.now() < end; await sleep(LOOK_MS, undefined, { signal })) {
    if (!existsSync(socket)) continue;
    const text = await answerOf(socket, '/health');
    if (text?.includes('"status"')) return;
  }
  throw new Error(`no answer to GET /health in ${START_MS} ms`);
}

/** The body of one answer; undefined where nobody listens, or it is cut off. */
function answerOf(socket: string, path: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const connection = connect(socket);
  let text = '';
  connection.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    const [head, body] = text.split('\r\n\r\n', 2);
    const length = /^content-length: (\d+)/im.exec(head ?? '')?.[1];
    if (body === undefined || length === undefined || Buffer.byteLength(body) < Number(length)) return;
    resolve(body);
    connection.destroy();
  });
  connection.on('error', () => resolve(undefined)).on('close', () => resolve(undefined));
  connection.write(`GET ${path} HTTP/1.1\r\nhost: device\r\nconnection: close\r\n\r\n`);
  return promise;
}
