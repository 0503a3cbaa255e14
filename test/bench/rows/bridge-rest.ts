/**
 * Rows 22 to 27: what others on the bridge feel of a neighbour, through REST and the whole Core in a process of its own, in real time. Ratios of the
 * round trip beside the neighbour to the round trip alone, in turns. The simulated wire has no clock, so both ends share two cores with the bench.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { CoreProcess } from '../../fixtures/core-process.ts';
import { SimControl } from '../../fixtures/sim-control.ts';
import { type Goal, type Measured, microseconds, quartiles, type Row } from '../harness.ts';
import { placed, slowBus } from '../sku-data.ts';
import type { Greed } from '../workloads/greedy.ts';

const GREEDY = new URL('../workloads/greedy.ts', import.meta.url);

const PROBES = {
  GPIO: ['/GPIO_read', { handle: 'button' }],
  I2C: ['/I2C_transfer_txrx', { handle: 'memory', tx: 'AA==', rxLen: 1 }],
  'second SPI bus': ['/SPI_transfer_txrx', { handle: 'flash', tx: 'nw==', rxLen: 4 }],
} as const satisfies Record<string, readonly [path: string, body: object]>;
type Probe = keyof typeof PROBES;

/** 64 KiB take 4.2 s at 125 kHz: always one under way. */
const SLOW = { handle: 'slow', tx: Buffer.alloc(65_536).toString('base64'), rxLen: 65_536 };
const BULK = { handle: 'flash', tx: Buffer.from([3, 0, 0, 0]).toString('base64'), rxLen: 4096 };

class Bench implements AsyncDisposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #root = mkdtempSync(join(tmpdir(), 'dc-'));
  #core!: CoreProcess;
  sim!: SimControl;

  static async open(): Promise<Bench> {
    const bench = new Bench();
    bench.#core = await CoreProcess.start(bench.#root, '--sku', placed(bench.#root, slowBus()), '--no-tcp');
    bench.sim = await SimControl.open(join(bench.#root, 'run'));
    return bench;
  }

  get app(): { readonly appId: string; readonly rpcSocket: string } {
    return { appId: 'com.example.greedy', rpcSocket: join(this.#root, 'run/apps/greedy/rpc.sock') };
  }

  ask(path: string, body: object): Promise<number> {
    const text = JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          socketPath: join(this.#root, 'run/core.sock'),
          agent: this.#agent,
          method: 'POST',
          path,
          headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
        },
        (response) => {
          response
            .on('error', reject)
            .on('end', () => resolve(response.statusCode!))
            .resume();
        },
      );
      sent.on('error', reject).end(text);
    });
  }

  /** Microseconds of each of so many round trips, one after the other. */
  async probe(kind: Probe, count: number): Promise<number[]> {
    const [path, body] = PROBES[kind];
    const times: number[] = [];
    for (let index = 0; index < count; index++) {
      const from = performance.now();
      const status = await this.ask(path, body);
      if (status !== 200) throw new Error(`${path} answered ${status}`);
      times.push((performance.now() - from) * 1000);
    }
    return times;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.sim[Symbol.dispose]();
    this.#agent.destroy();
    await this.#core[Symbol.asyncDispose]();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

/** Makes life hard for the others until it is disposed of. */
type Neighbour = (bench: Bench) => Promise<AsyncDisposable>;

function loop(bench: Bench, body: object, wide: number): AsyncDisposable {
  let over = false;
  const lane = async () => {
    while (!over) {
      const status = await bench.ask('/SPI_transfer_txrx', body);
      if (status !== 200) throw new Error(`the neighbour's transfer was answered ${status}`);
    }
  };
  // A lane that fails is a failure of its row, told at its end: until then nobody waits for it.
  const lanes = Promise.allSettled(Array.from({ length: wide }, lane));
  return {
    async [Symbol.asyncDispose]() {
      over = true;
      for (const ended of await lanes) if (ended.status === 'rejected') throw ended.reason;
    },
  };
}

const slowTarget: Neighbour = async (bench) => {
  const lane = loop(bench, SLOW, 1);
  await sleep(100);
  return lane;
};

const saturated: Neighbour = async (bench) => {
  const lanes = loop(bench, BULK, 4);
  await sleep(100);
  return lanes;
};

const noisy =
  (bitErrorRate: number): Neighbour =>
  async (bench) => {
    await bench.sim.ask({ faults: { bitErrorRate, seed: 7 } });
    return { [Symbol.asyncDispose]: async () => void (await bench.sim.ask({ faults: {} })) };
  };

/** Hundreds of transfers at once: most are refused with BUSY, and asked for again. */
const greedy: Neighbour = async (bench) => {
  const params = { handle: 'slow', tx: Buffer.alloc(64).toString('base64'), rxLen: 64 };
  const workerData: Greed = { ...bench.app, wide: 300, params };
  const app = new Worker(GREEDY, { workerData });
  const ended = once(app, 'exit');
  ended.catch(() => undefined); // told at the end of the row
  await once(app, 'message');
  await sleep(200);
  return {
    async [Symbol.asyncDispose]() {
      app.postMessage('over');
      await ended;
    },
  };
};

/** Alone and beside the neighbour in turns; the ratio of the medians, round by round. */
async function beside(neighbour: Neighbour, kinds: readonly Probe[], quick: boolean) {
  await using bench = await Bench.open();
  const [rounds, count] = quick ? [3, 100] : [9, 300];
  for (const kind of kinds) await bench.probe(kind, 200);
  const results: Record<string, Measured> = {};
  const ratios = new Map(kinds.map((kind) => [kind, [] as { alone: number[]; loaded: number[] }[]]));
  for (let round = 0; round < rounds; round++) {
    const alone = new Map<Probe, number[]>();
    for (const kind of kinds) alone.set(kind, await bench.probe(kind, count));
    await using _load = await neighbour(bench);
    for (const kind of kinds) {
      const loaded = await bench.probe(kind, count);
      ratios.get(kind)!.push({ alone: alone.get(kind)!, loaded });
    }
  }
  for (const kind of kinds) {
    const pairs = ratios.get(kind)!;
    const p99 = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)]!;
    const all = (side: 'alone' | 'loaded') => pairs.flatMap((pair) => pair[side]);
    const told = (side: 'alone' | 'loaded') =>
      `${microseconds(quartiles(all(side)).median)}, p99 ${microseconds(p99(all(side)))}`;
    results[kind] = {
      ...quartiles(pairs.map(({ alone, loaded }) => quartiles(loaded).median / quartiles(alone).median)),
      ours: told('loaded'),
      theirs: told('alone'),
    };
  }
  return results;
}

/** Milliseconds from the crash of the bridge, back after 50 ms, to the first answer; nothing waits longer than its deadline. */
async function restart(quick: boolean): Promise<Measured> {
  await using bench = await Bench.open();
  const gaps: number[] = [];
  const longest: number[] = [];
  for (let round = 0; round < (quick ? 3 : 9); round++) {
    await bench.probe('GPIO', 20);
    await bench.sim.ask({ crash: { transactions: 0, ms: 50 } });
    const from = performance.now();
    for (let status = 0; status !== 200; ) {
      const sent = performance.now();
      status = await bench.ask(...PROBES.GPIO);
      longest.push(performance.now() - sent);
      if (performance.now() - from > 30_000) throw new Error('the bridge did not come back within 30 s');
      if (status !== 200) await sleep(5);
    }
    gaps.push(performance.now() - from);
  }
  return { ...quartiles(gaps), ours: `the longest answer took ${Math.round(Math.max(...longest))} ms` };
}

const goals = (kinds: readonly Probe[], goal: number): readonly Goal[] =>
  kinds.map((name) => ({ name, goal, floor: 1 }));
const ALL: readonly Probe[] = ['GPIO', 'I2C', 'second SPI bus'];
const OTHERS: readonly Probe[] = ['GPIO', 'I2C'];

export const rows: readonly Row[] = [
  {
    id: 22,
    title: 'Bridge through REST: round trips beside 64 KiB on a 125 kHz SPI target, against alone',
    goals: goals(ALL, 1.5),
    run: ({ quick }) => beside(slowTarget, ALL, quick),
  },
  {
    id: 23,
    title: 'Bridge through REST: round trips on a link saturated by 4 KiB reads of a flash, against alone',
    goals: goals(OTHERS, 1.5),
    run: ({ quick }) => beside(saturated, OTHERS, quick),
  },
  {
    id: 24,
    title: 'Bridge through REST: round trips at a bit error rate of 1e-5, against none',
    goals: goals(ALL, 1.2),
    run: ({ quick }) => beside(noisy(1e-5), ALL, quick),
  },
  {
    id: 25,
    title: 'Bridge through REST: round trips at a bit error rate of 1e-4, against none',
    goals: goals(ALL, 1.5),
    run: ({ quick }) => beside(noisy(1e-4), ALL, quick),
  },
  {
    id: 26,
    title: 'Bridge through REST: round trips beside an app with 300 transfers at once, against alone',
    goals: goals(ALL, 1.5),
    run: ({ quick }) => beside(greedy, ALL, quick),
  },
  {
    id: 27,
    title: 'Bridge through REST: from a crash of the bridge (50 ms) to the next answer',
    goals: [{ name: 'outage', goal: 1000, unit: 'ms' }],
    run: async ({ quick }) => ({ outage: await restart(quick) }),
  },
];
