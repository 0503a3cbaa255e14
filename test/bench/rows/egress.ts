/** Row 60: what an app pays for its way to a named host, against the same bytes from the same host without a proxy, both in bubblewrap. */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Writable } from 'node:stream';
import { PROXY } from '@device-core/plugin-api/inside/app-spec';
import type { SandboxSpec } from '@device-core/plugin-api/inside/sandbox';
import { egress } from '@device-core/plugin-api/inside/services/egress';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import type { WalledProgram } from '@device-core/plugin-api/inside/services/launcher';
import { WallLauncher } from '../../../kernel/walls/launcher.ts';
import { startCore } from '../../fixtures/core.ts';
import { WITHOUT_BWRAP } from '../../fixtures/walls.ts';
import { type Goal, type Measured, quartiles, type Row, type RunOptions, type Skipped, skipped } from '../harness.ts';

const MB = 1_000_000;
const BYTES = 100 * MB;
const HOST = 'api.test';
const APP = { id: 'com.example.bench', name: 'bench' };
const WORKLOADS = join(import.meta.dirname, '../workloads');
const CLIENT = join(WORKLOADS, 'egress-client.ts');
const MANY = 20;
/** What a device has at best by cable or radio: bytes a second. */
const LINE = (100 * MB) / 8;
const LINE_BYTES = 10 * MB;

const GOALS: readonly Goal[] = [
  { name: '100 MB', goal: 1.3 },
  { name: '10 MB at 100 Mbit/s', goal: 1.3 },
  { name: 'a request', goal: 5, unit: 'ms' },
];

class Client implements Disposable {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor({ command, args, cwd, env, feeds }: WalledProgram) {
    const child = spawn(command, args, {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'inherit', ...feeds.map(() => 'pipe' as const)],
    });
    for (const { descriptor, bytes } of feeds) (child.stdio[descriptor] as Writable).end(bytes);
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  }

  /** Milliseconds of each. */
  async take(count: number, bytes: number, rate: number): Promise<readonly number[]> {
    this.#child.stdin!.write(`${count} ${bytes} ${rate}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the client ended');
    return JSON.parse(value);
  }

  [Symbol.dispose](): void {
    this.#child.stdin!.end();
  }
}

async function run({ quick }: RunOptions): Promise<Record<string, Measured | Skipped>> {
  const missing = WITHOUT_BWRAP;
  if (missing !== false) return Object.fromEntries(GOALS.map(({ name }) => [name, skipped(missing)]));
  const rounds = quick ? 3 : 9;
  const server = fork(join(WORKLOADS, 'egress-server.ts'));
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  await using core = await startCore({
    plugins: { operations: '^1.0.0', identity: '^1.0.0', ledger: '^1.0.0', egress: '^1.0.0' },
    config: { egress: { hosts: { [HOST]: ['127.0.0.1'] } } },
  });
  await core.service(grants).set({ kind: 'app', id: APP.id }, [`network.outbound:${HOST}`]);
  const { path } = await core.service(egress).open({ ...APP, hosts: [{ host: HOST, ports: [port] }] });
  const walls = new WallLauncher();
  const spec = (way: string): SandboxSpec => ({
    name: 'app-bench',
    program: process.execPath,
    args: [CLIENT, HOST, String(port), way],
    cwd: WORKLOADS,
    env: { HTTPS_PROXY: PROXY },
    files: { read: [WORKLOADS], write: [] },
    sockets: [join(path, '..')],
    network: way === 'direct' ? 'open' : 'hosts',
    ...(way === 'direct' ? {} : { wayOut: path }),
    nodes: [],
  });
  try {
    using ours = new Client(await walls.prepare(spec('proxy')));
    using theirs = new Client(await walls.prepare(spec('direct')));
    using control = new Client(await walls.prepare(spec('direct')));
    const clients = { ours, theirs, control };
    const times = async (count: number, bytes: number, rate = 0) => {
      const found = { ours: [] as number[], theirs: [] as number[], control: [] as number[] };
      for (const client of Object.values(clients)) await client.take(1, bytes, rate); // warm
      for (let round = 0; round < rounds; round++)
        for (const name of ['ours', 'theirs', 'control'] as const)
          found[name].push(quartiles(await clients[name].take(count, bytes, rate)).median);
      return found;
    };
    const whole = await times(1, BYTES);
    const line = await times(1, LINE_BYTES, LINE);
    const small = await times(MANY, 200);
    const by = (one: readonly number[], other: readonly number[], how: (a: number, b: number) => number) =>
      quartiles(one.map((value, at) => how(value, other[at]!)));
    const text = (values: readonly number[]) => `${quartiles(values).median.toFixed(2)} ms`;
    const ratio = (a: number, b: number) => a / b;
    const difference = (a: number, b: number) => a - b;
    return {
      '100 MB': {
        ...by(whole.ours, whole.theirs, ratio),
        ours: text(whole.ours),
        theirs: `${text(whole.theirs)} (control ${by(whole.control, whole.theirs, ratio).median.toFixed(2)}x)`,
      },
      '10 MB at 100 Mbit/s': {
        ...by(line.ours, line.theirs, ratio),
        ours: text(line.ours),
        theirs: `${text(line.theirs)} (control ${by(line.control, line.theirs, ratio).median.toFixed(2)}x)`,
      },
      'a request': {
        ...by(small.ours, small.theirs, difference),
        ours: text(small.ours),
        theirs: `${text(small.theirs)} (control ${by(small.control, small.theirs, difference).median.toFixed(2)} ms)`,
      },
    };
  } finally {
    server.disconnect();
  }
}

export const rows: readonly Row[] = [
  {
    id: 60,
    title: 'The way of an app to a named host, against a direct connection',
    goals: GOALS,
    run,
  },
];
