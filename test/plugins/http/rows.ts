/** Operations in the shapes of the specification, for the tests of the front end alone. */
import { type CallContext, CoreError } from '@device-core/plugin-api';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { pace } from '../../fixtures/eventually.ts';

type Row = Operation<never, unknown>;

export const SPI: Row = {
  name: 'spi.transfer',
  summary: 'transfer',
  capability: 'bridges.spi:{handle}',
  params: {
    type: 'object',
    required: ['handle', 'tx', 'rxLen'],
    properties: { handle: { type: 'string' }, tx: { type: 'string' }, rxLen: { type: 'integer', minimum: 0 } },
  },
  result: { type: 'object', required: ['rx'], properties: { rx: { type: 'string' } } },
  rest: { method: 'POST', path: '/SPI_transfer_txrx', failure: { bare: true, otherwise: 500 } },
  errors: ['HANDLE_NOT_FOUND', 'TIMEOUT'],
  run: async ({ rxLen }: { rxLen: number }) => {
    if (rxLen === 13) throw new CoreError('TIMEOUT', { what: 'transfer', ms: 5 });
    if (rxLen === 14) throw new Error('secret of the driver');
    return { rx: 'AAAA' };
  },
} as Row;

export const SOCKET: Row = {
  name: 'apps.socket',
  summary: 'path',
  params: { type: 'object' },
  result: { type: 'object' },
  rest: { method: 'GET', path: '/getDeviceSocketPath', bare: true },
  errors: [],
  run: async () => ({ socket: '/run/device/apps/flash/rpc.sock' }),
};

export const REGISTER: Row = {
  name: 'functions.register',
  summary: 'register',
  params: {
    type: 'object',
    required: ['app', 'functions'],
    properties: { app: { type: 'string' }, functions: { type: 'array', items: { type: 'object' } } },
  },
  result: { type: 'object' },
  rest: { method: 'POST', path: '/FunctionRegistry-registerFunction', status: 201 },
  errors: [],
  run: async ({ app }: { app: string }) => ({ app, functions: [] }),
} as Row;

export const SET: Row = {
  name: 'config.set',
  summary: 'set',
  params: {
    type: 'object',
    required: ['key', 'value'],
    properties: { key: { type: 'string' }, value: {}, ifRevision: { type: 'integer' } },
  },
  result: { type: 'object' },
  rest: { method: 'PUT', path: '/config/:key', bodyLimit: 1000 },
  errors: ['CONFIG_CONFLICT'],
  run: async (params: object) => params,
} as Row;

export const FIND: Row = {
  name: 'test.find',
  summary: 'find',
  anonymous: true,
  params: {
    type: 'object',
    properties: {
      limit: { type: 'integer', minimum: 1 },
      deep: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      numbers: { type: 'array', items: { type: 'number' } },
      text: { type: 'string' },
    },
  },
  result: { type: 'object' },
  rest: { method: 'GET', path: '/find' },
  errors: [],
  run: async (params: object) => ({ params }),
} as Row;

export const STATUS: Row = {
  name: 'test.status',
  summary: 'status',
  anonymous: true,
  params: { type: 'object', properties: { say: { type: 'string' } } },
  result: { type: 'object' },
  rest: { method: 'GET', path: '/status', bare: true, statusBy: { member: 'status', map: { failed: 503 } } },
  errors: [],
  run: async ({ say = 'ok' }: { say?: string }) => ({ ok: say !== 'failed', status: say }),
} as Row;

/** What became of calls that wait; one entry per abort. */
export const aborted: string[] = [];

export const WAIT: Row = {
  name: 'test.wait',
  summary: 'wait for ever',
  timeoutMs: 5_000,
  params: { type: 'object', properties: { ms: { type: 'integer', default: 60_000 } } },
  result: { type: 'object' },
  rest: { method: 'GET', path: '/wait' },
  errors: ['QUEUE_FULL'],
  run: async ({ ms }: { ms: number }, { signal }: CallContext) => {
    if (ms === 0) throw new CoreError('QUEUE_FULL', { what: 'event', reason: 'it is full', retryAfterMs: 1_200 });
    try {
      await pace(ms, signal);
    } catch {
      aborted.push((signal.reason as CoreError).code);
      throw signal.reason;
    }
    return { waited: ms };
  },
} as Row;

export const EVENTS: Row = {
  name: 'test.events',
  summary: 'count',
  rpc: false,
  params: { type: 'object', properties: { bytes: { type: 'integer', default: 1 }, fail: { type: 'boolean' } } },
  result: { type: 'object' },
  rest: { method: 'GET', path: '/events', sse: true },
  errors: [],
  async *run({ bytes, fail }: { bytes: number; fail?: boolean }, { signal }: CallContext) {
    try {
      for (let n = 1; ; n++) {
        if (fail && n > 2) throw new CoreError('QUEUE_FULL', { what: 'events', reason: 'too slow' });
        produced.last = n;
        yield { event: 'count', id: String(n), data: { n, fill: 'x'.repeat(bytes) } };
        if (bytes === 1) await pace(20, signal);
      }
    } finally {
      produced.ended++;
    }
  },
} as Row;

export const produced = { last: 0, ended: 0 };

export const ROWS: readonly Row[] = [SPI, SOCKET, REGISTER, SET, FIND, STATUS, WAIT, EVENTS];
