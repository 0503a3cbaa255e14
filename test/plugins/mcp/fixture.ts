/** Plugin mcp behind a door of the test, with functions, a ledger and a person of its own. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ANONYMOUS, type Caller, type CoreError } from '@device-core/plugin-api';
import { type DoorAnswer, type DoorRequest, httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { type Departure, ledger } from '@device-core/plugin-api/inside/services/ledger';
import { device } from '@device-core/plugin-api/services/device';
import { type FunctionInfo, type FunctionRequest, functions } from '@device-core/plugin-api/services/functions';
import { operations } from '@device-core/plugin-api/services/operations';
import { type PromptOutcome, type PromptQuestion, prompts } from '@device-core/plugin-api/services/prompts';
import { sensors } from '@device-core/plugin-api/services/sensors';
import { createTestHost, OPERATOR, type TestHost, TestOperations, VirtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/mcp/index.ts';

export const VERSION = '2026-07-28';
const PREFIX = 'io.modelcontextprotocol/';

export const fn = (app: string, name: string, more: Partial<FunctionInfo> = {}): FunctionInfo => ({
  app,
  name,
  version: '1.0.0',
  id: `${app}/${name}@1.0.0`,
  available: true,
  ...more,
});

// biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
type Answer = { readonly status: number; readonly headers: DoorAnswer['headers']; readonly json: any };

export class Bench implements AsyncDisposable {
  readonly clock = new VirtualClock();
  readonly called: FunctionRequest[] = [];
  readonly lines: Departure[] = [];
  readonly asked: PromptQuestion[] = [];
  readonly withdrawn: string[] = [];
  #functions: readonly FunctionInfo[] = [];
  /** Result or fault of the next calls. */
  result: (request: FunctionRequest) => Promise<Readonly<Record<string, unknown>>> = async () => ({ done: true });
  /** Answer of the person before the device; without one the question stays open. */
  person: Partial<PromptOutcome> | undefined = { state: 'answered', allow: ['yes'] };
  ledgerFault: CoreError | undefined;
  host!: TestHost;
  #door: ((request: DoorRequest) => Promise<DoorAnswer>) | undefined;
  #changed: (() => void) | undefined;
  #open: ((outcome: PromptOutcome) => void) | undefined;
  readonly table = new TestOperations();
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  static async start(
    options: { readonly config?: object; readonly root?: string; readonly without?: readonly string[] } = {},
  ) {
    const bench = new Bench(options.root ?? mkdtempSync(join(tmpdir(), 'mcp-')));
    const paths = { etc: join(bench.root, 'etc'), var: join(bench.root, 'var'), run: join(bench.root, 'run') };
    const info = {
      paths,
      service: 'device',
      core: { version: '0.1.0', api: '1.0.0' },
      sku: { id: 'test', title: 'Test', simulated: true },
    };
    const none = { [Symbol.dispose]: () => undefined };
    const services = [
      [device, { info: async () => info as never }],
      [operations, bench.table],
      [
        httpServer,
        {
          addresses: async () => [],
          mount: () => none,
          upgrade: () => none,
          door: (path: string, door: never) => bench.#serve(path, door),
        },
      ],
      [
        functions,
        {
          list: async () => bench.#functions,
          call: (request: FunctionRequest) => bench.#call(request),
          onChange: (listener: () => void) => bench.#follow(listener),
        },
      ],
      [ledger, { write: (line: Departure) => bench.#write(line) }],
      [
        prompts,
        {
          ask: (question: PromptQuestion) => bench.#ask(question),
          withdraw: async (subject: string) => bench.#withdraw(subject),
        },
      ],
      [
        sensors,
        {
          list: async () => [{ name: 'climate', title: 'Climate', quantities: { temperature: { unit: 'Cel' } } }],
          read: async () => ({ at: 5, values: { temperature: 21 } }),
        },
      ],
    ] as const;
    bench.host = await createTestHost(plugin, {
      manifest: 'manifests/plugins/interface/mcp.yaml',
      config: options.config ?? {},
      clock: bench.clock,
      services: services.filter(([{ id }]) => !options.without?.includes(id)) as never,
    });
    return bench;
  }

  /** One message over HTTP, as the client of this bearer. */
  async post(body: unknown, more: Partial<DoorRequest> & { readonly as?: Caller } = {}): Promise<Answer> {
    const { as = ANONYMOUS, ...given } = more;
    const request = {
      method: 'POST',
      headers: {},
      body,
      signal: new AbortController().signal,
      caller: async () => as,
      turn: async () => undefined,
      ...given,
    };
    const { status, headers, json } = await this.#door!(request);
    return { status, headers, json };
  }

  async answer(request: DoorRequest): Promise<DoorAnswer> {
    return this.#door!(request);
  }

  /** A message of revision 2026-07-28 with the headers that belong to it. */
  stateless(
    method: string,
    params: object = {},
    abilities: object = {},
    more: Partial<DoorRequest> = {},
  ): Promise<Answer> {
    return this.post(message(method, params, abilities), { headers: headersOf(method, params), ...more });
  }

  async add(name = 'laptop', more: object = {}): Promise<string> {
    const { token } = await this.run('mcp.add', { name, ...more });
    return token;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  run(name: string, params: object = {}, caller: Caller = OPERATOR): Promise<any> {
    return this.table.run(name, params, { caller });
  }

  set functions(functions: readonly FunctionInfo[]) {
    this.#functions = functions;
    this.change();
  }

  get functions(): readonly FunctionInfo[] {
    return this.#functions;
  }

  change(): void {
    this.#changed?.();
  }

  settle(outcome: Partial<PromptOutcome>): void {
    this.#open?.({ state: 'answered', allow: [], at: 0, ...outcome });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.stop();
    assert.deepEqual(this.host.leaks(), []);
    rmSync(this.root, { recursive: true, force: true });
  }

  #serve(path: string, door: (request: DoorRequest) => Promise<DoorAnswer>): Disposable {
    assert.equal(path, '/mcp');
    this.#door = door;
    return { [Symbol.dispose]: () => undefined };
  }

  async #call(request: FunctionRequest) {
    this.called.push(request);
    return this.result(request);
  }

  #follow(listener: () => void): Disposable {
    this.#changed = listener;
    return { [Symbol.dispose]: () => undefined };
  }

  async #write(line: Departure): Promise<string> {
    if (this.ledgerFault) throw this.ledgerFault;
    this.lines.push(line);
    return String(this.lines.length);
  }

  #ask(question: PromptQuestion): Promise<PromptOutcome> {
    this.asked.push(question);
    const { promise, resolve } = Promise.withResolvers<PromptOutcome>();
    this.#open = resolve;
    if (this.person) this.settle(this.person);
    return promise;
  }

  #withdraw(subject: string): void {
    this.withdrawn.push(subject);
    this.settle({ state: 'withdrawn' });
  }
}

export function message(method: string, params: object = {}, abilities: object = {}, id = 1): object {
  const _meta = { [`${PREFIX}protocolVersion`]: VERSION, [`${PREFIX}clientCapabilities`]: abilities };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
}

export function headersOf(method: string, params: { readonly name?: unknown; readonly uri?: unknown } = {}) {
  const subject = params.name ?? params.uri;
  return {
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(typeof subject === 'string' && { 'mcp-name': subject }),
  };
}
