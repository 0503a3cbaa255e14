/**
 * A process of its own that answers one POST: through the product, bare fastify with schemas, or express with ajv. All of them validate what is asked
 * and what is answered. Tells its parent how to ask.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { type Operations, operations } from '@device-core/plugin-api/services/operations';
import { Ajv } from 'ajv';
import { parse, stringify } from 'yaml';
import { startCore } from '../../fixtures/core.ts';
import { collectGarbage, peer, quartiles } from '../harness.ts';

const BODY = {
  type: 'object',
  required: ['handle', 'tx', 'rxLen'],
  additionalProperties: false,
  properties: { handle: { type: 'string' }, tx: { type: 'string' }, rxLen: { type: 'integer', minimum: 0 } },
} as const;
const RESULT = {
  type: 'object',
  required: ['rx'],
  properties: { ok: { type: 'boolean' }, rx: { type: 'string' } },
} as const;
const RX = 'AAAAAAAAAAAAAAAAAAAAAA==';

/** What a caller without identity gets of the Core's health, for as many plugins. */
const HEALTHY = {
  ok: true,
  status: 'ok',
  components: Object.fromEntries(
    ['http', 'identity', 'limits', 'operations', 'system'].map((name) => [name, { status: 'okay' }]),
  ),
  bridge: { link: 'down' },
};
const HEALTH = {
  type: 'object',
  required: ['ok', 'status', 'components', 'bridge', 'uptimeMs'],
  properties: {
    ok: { type: 'boolean' },
    status: { type: 'string' },
    components: {
      type: 'object',
      additionalProperties: { type: 'object', properties: { status: { type: 'string' } } },
    },
    bridge: { type: 'object', properties: { link: { type: 'string' } } },
    uptimeMs: { type: 'integer' },
  },
} as const;

interface Answer {
  readonly port: number;
  readonly token?: string;
}

const PRODUCT = {
  operations: { version: '^1.0.0', config: { validateResults: true } },
  identity: { version: '^1.0.0' },
  system: { version: '^1.0.0' },
  // In the path, and never the reason for an answer.
  limits: { version: '^1.0.0', config: { rest: { perMinute: 1e9, burst: 1_000_000 } } },
  http: { version: '^1.0.0', config: { port: 0 } },
};
/** What the plugin `traces` may be in this Core: not in its SKU, there and quiet, or keeping every call. */
const TRACES: Readonly<Record<string, object>> = {
  absent: {},
  quiet: { traces: { version: '^1.0.0' } },
  all: { traces: { version: '^1.0.0', config: { sample: 1 } } },
};

/** Microseconds of a call without a network, the lowest quarter of short blocks: too little to be seen beside a request. */
async function perCall(gate: Operations, app: string): Promise<number> {
  const caller = { kind: 'app', id: app } as const;
  const { signal } = new AbortController();
  const params = { handle: 'flash', tx: RX, rxLen: 16 };
  const costs: number[] = [];
  for (let block = 0; block < 13; block++) {
    const from = performance.now();
    for (let call = 0; call < 4_000; call++)
      await gate.invoke('bench.transfer', params, { caller, signal, deadline: Date.now() + 10_000 });
    // The first one is for the compiler.
    if (block > 0) costs.push((performance.now() - from) / 4);
  }
  return quartiles(costs).q1;
}

const SERVERS: Readonly<Record<string, () => Promise<Answer>>> = {
  async ours() {
    const core = await startCore({ logLevel: 'warn', plugins: PRODUCT, config: { http: { port: 0 } } });
    const app = 'com.example.bench';
    await core.service(grants).set({ kind: 'app', id: app }, ['bridges.spi:flash']);
    core.service(operations).add({
      name: 'bench.transfer',
      summary: 'answer at once',
      capability: 'bridges.spi:{handle}',
      params: BODY,
      result: RESULT,
      rest: { method: 'POST', path: '/bench' },
      errors: [],
      run: async () => ({ rx: RX }),
    });
    // One process for all of them: two of the same kind differ by more than is looked for.
    process.on('message', async (traces: string) => {
      const sku = parse(readFileSync(core.skuFile, 'utf8')) as object;
      writeFileSync(core.skuFile, stringify({ ...sku, plugins: { ...PRODUCT, ...TRACES[traces] } }));
      await core.kernel.apply();
      const { plugins } = await core.kernel.status();
      collectGarbage();
      const us = await perCall(core.service(operations), app);
      process.send!({ traces: plugins.find(({ id }) => id === 'traces')?.state ?? 'absent', us });
    });
    const address = (await core.service(httpServer).addresses()).find((one) => one.startsWith('http:'));
    return { port: Number(new URL(address!).port), token: await core.service(identity).issue(app) };
  },
  async fastify() {
    const { fastify } = await peer<{ fastify: () => Fastify }>('fastify');
    const app = fastify();
    const schema = { body: BODY, response: { 200: RESULT } };
    // Its schema of the response makes text of it, and checks nothing.
    const validate = new Ajv().compile(RESULT);
    const preSerialization = async (_request: unknown, _reply: unknown, payload: unknown): Promise<unknown> => {
      if (!validate(payload)) throw new Error('the result is invalid');
      return payload;
    };
    app.post('/bench', { schema, preSerialization }, async () => ({ ok: true, rx: RX }));
    app.get('/health', { schema: { response: { 200: HEALTH } } }, async () => ({ ...HEALTHY, uptimeMs: Date.now() }));
    const port = await freePort();
    await app.listen({ port, host: '127.0.0.1' });
    return { port };
  },
  async express() {
    const { default: express } = await peer<{ default: Express }>('express');
    const validate = new Ajv().compile(BODY);
    const validateResult = new Ajv().compile(RESULT);
    const app = express();
    app.use(express.json());
    app.post('/bench', (request, response) => {
      const result = { ok: true, rx: RX };
      if (!validate(request.body)) response.status(400).json(validate.errors);
      else if (validateResult(result)) response.json(result);
      else response.status(500).json(validateResult.errors);
    });
    const port = await freePort();
    await new Promise<void>((resolve) => app.listen(port, '127.0.0.1', resolve));
    return { port };
  },
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

interface Fastify {
  post(path: string, options: object, handler: () => Promise<object>): void;
  get(path: string, options: object, handler: () => Promise<object>): void;
  listen(options: object): Promise<string>;
}
interface ExpressResponse {
  status(code: number): ExpressResponse;
  json(body: unknown): void;
}
interface ExpressApp {
  use(handler: unknown): void;
  post(path: string, handler: (request: { readonly body: unknown }, response: ExpressResponse) => void): void;
  listen(port: number, host: string, listening: () => void): void;
}
interface Express {
  (): ExpressApp;
  json(): unknown;
}

process.send!(await SERVERS[process.argv[2]!]!());
process.once('disconnect', () => process.exit());
