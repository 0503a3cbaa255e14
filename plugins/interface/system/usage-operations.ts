/** plugins.usage and plugins.sample: what each plugin takes of the device. */
import {
  CALLBACK_KINDS,
  type CoreLoad,
  type Isolation,
  type LoopUsage,
  type PluginState,
  type PluginUsage,
  type SampledUsage,
} from '@device-core/plugin-api';
import type { PluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const MS: JsonSchema = { type: 'number', minimum: 0, description: 'milliseconds' };

const PERCENT: JsonSchema = { type: 'number', minimum: 0, description: 'of one processor, over the last minute' };
const BYTES: JsonSchema = { type: 'integer', minimum: 0, description: 'bytes' };

const LOAD: JsonSchema = {
  type: 'object',
  description: 'what the process of the Core takes of the device, plugins in threads of it included',
  required: ['minutePercent', 'residentBytes', 'heapBytes', 'processors', 'memory'],
  properties: {
    minutePercent: PERCENT,
    residentBytes: BYTES,
    heapBytes: BYTES,
    processors: COUNT,
    memory: {
      type: 'object',
      description: 'of the device',
      required: ['totalBytes', 'availableBytes'],
      properties: { totalBytes: BYTES, availableBytes: BYTES },
    },
  },
};

export const LOOP: JsonSchema = {
  type: 'object',
  description: "how late the Core's event loop is, over the last 10 to 20 seconds",
  required: ['p50Ms', 'p99Ms', 'maxMs', 'utilization', 'stalls', 'unattributed'],
  properties: {
    p50Ms: MS,
    p99Ms: MS,
    maxMs: MS,
    ownP99Ms: { ...MS, description: 'as p99Ms, without what its thread waited for a processor' },
    utilization: { type: 'number', description: 'share of the time that it was busy, 0 to 1' },
    stalls: { ...COUNT, description: 'delays of 50 ms and more since the Core started' },
    unattributed: { ...COUNT, description: 'those of them that no plugin could be named for' },
  },
};

export const WARNING: JsonSchema = {
  type: 'object',
  required: ['code', 'message'],
  properties: {
    code: { enum: ['STALL', 'BUSY'] },
    message: { type: 'string' },
    at: { type: 'integer', description: 'milliseconds since the Unix epoch' },
  },
};

const CALLBACKS: JsonSchema = {
  type: 'object',
  required: ['calls', 'errors', 'busyMs', 'longestMs'],
  properties: { calls: COUNT, errors: COUNT, busyMs: MS, longestMs: MS },
};

const USAGE: JsonSchema = {
  type: 'object',
  required: ['plugin', 'callbacks', 'busyMs', 'busyPercent', 'errors', 'stalls', 'longestMs', 'budget'],
  properties: {
    plugin: { type: 'string' },
    state: { type: 'string' },
    isolation: { enum: ['inline', 'worker', 'process'] },
    callbacks: {
      type: 'object',
      description: "synchronous time on the Core's event loop by the kind of callback",
      required: [...CALLBACK_KINDS],
      properties: Object.fromEntries(CALLBACK_KINDS.map((kind) => [kind, CALLBACKS])),
    },
    busyMs: MS,
    busyPercent: { type: 'number', minimum: 0, description: 'of the last ten seconds' },
    errors: COUNT,
    stalls: { ...COUNT, description: 'how often it kept the event loop beyond its budget' },
    longestMs: MS,
    budget: {
      type: 'object',
      required: ['stallMs', 'busyPercent'],
      properties: { stallMs: MS, busyPercent: { type: 'number' } },
    },
    warning: WARNING,
    minutePercent: PERCENT,
    cpuMs: { ...MS, description: 'CPU time of the thread or process of an isolated plugin' },
    heapBytes: { ...COUNT, description: 'heap of an isolated plugin' },
  },
};

/** A line of plugins.usage. */
type UsageLine = PluginUsage & { readonly state: PluginState; readonly isolation: Isolation };

interface Usage {
  /** Milliseconds on a clock that never goes back, to tell rates by. */
  readonly uptimeMs: number;
  readonly eventLoop: LoopUsage;
  readonly core: CoreLoad;
  readonly plugins: readonly UsageLine[];
}

export function usageOperations(manager: PluginManager) {
  const usage: Operation<never, Usage> = {
    name: 'plugins.usage',
    summary: 'use of the event loop, the CPU and the memory by each plugin',
    description:
      'Counters since the Core started: the difference of two answers, divided by that of uptimeMs, is a rate. What a callback does after an await, and what Node calls directly, is not in them; plugins.sample sees it.',
    capability: 'system.plugins',
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['uptimeMs', 'eventLoop', 'core', 'plugins'],
      properties: {
        uptimeMs: { ...MS, description: 'on a clock that never goes back' },
        eventLoop: LOOP,
        core: LOAD,
        plugins: { type: 'array', items: USAGE },
      },
    },
    rest: { method: 'GET', path: '/plugins/usage' },
    errors: [],
    async run() {
      const asked = [manager.usage(), manager.eventLoop(), manager.load(), manager.list()] as const;
      const [used, eventLoop, core, list] = await Promise.all(asked);
      // One that the SKU does not list any more has an account, but no place in the table.
      const plugins = used.flatMap((one) => {
        const status = list.find(({ id }) => id === one.plugin);
        return status ? [{ ...one, state: status.state, isolation: status.isolation }] : [];
      });
      return { uptimeMs: performance.now(), eventLoop, core, plugins };
    },
  };
  const sample: Operation<{ readonly ms: number }, { readonly plugins: readonly SampledUsage[] }> = {
    name: 'plugins.sample',
    summary: 'sample for a while the code that runs on the event loop, by its plugin',
    description:
      'Sees what plugins.usage does not: what runs after an await and in handlers of sockets. It costs some CPU meanwhile, and a delay of tens of milliseconds at its beginning. Plugins of workers and processes are not in it.',
    capability: 'system.plugins',
    params: {
      type: 'object',
      properties: { ms: { type: 'integer', minimum: 100, maximum: 30_000, default: 5_000 } },
    },
    result: {
      type: 'object',
      required: ['plugins'],
      properties: {
        plugins: {
          type: 'array',
          items: {
            type: 'object',
            required: ['plugin', 'busyMs', 'longestMs', 'where', 'functions'],
            properties: {
              plugin: { type: 'string', description: '`core` is all code that is of no plugin' },
              busyMs: MS,
              longestMs: { ...MS, description: 'without a pause' },
              where: { type: 'string', description: 'the function that took most of it' },
              functions: {
                type: 'array',
                description: 'its hottest functions, the hottest first, eight at most',
                items: {
                  type: 'object',
                  required: ['where', 'ms'],
                  properties: { where: { type: 'string' }, ms: MS },
                },
              },
            },
          },
        },
      },
    },
    rest: { method: 'POST', path: '/plugins/sample' },
    errors: ['BUSY'],
    timeoutMs: 34_000,
    run: async ({ ms }) => ({ plugins: await manager.sample(ms) }),
  };
  return [usage, sample];
}
