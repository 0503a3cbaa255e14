/**
 * Rows 6 to 8: what a call of an app costs on its socket, with validation of what is asked, capability check, hooks and deadline. The SDK of apps stands
 * against the clients of peers, a client of 30 lines against a bare echo, which has none. Nobody validates what is answered.
 */
import { join } from 'node:path';
import { alternate, type Measured, type Pair, type Row, type RunOptions } from '../harness.ts';
import {
  type Client,
  echoClient,
  lineClient,
  parallel,
  peerClient,
  sdkClient,
  sequential,
  start,
  temporary,
} from '../workloads/rpc-clients.ts';

type Load = (client: Client, calls: number) => Promise<void>;

/** Ours against one peer, each in a process of its own behind this one; `theirLoad` is how the peer is asked, if not alike. */
async function against(
  kind: string,
  load: Load,
  calls: number,
  { quick }: RunOptions,
  theirLoad: Load = load,
): Promise<Pair> {
  using place = temporary();
  const path = join(place.path, 'peer.sock');
  using core = await start('rpc-core.ts');
  using server = await start('rpc-servers.ts', kind, path);
  const socket = (core.said as { a: string }).a;
  await using ours = await (kind === 'echo' ? lineClient(socket) : sdkClient(socket));
  await using theirs = await (kind === 'echo' ? echoClient(path) : peerClient(kind, path));
  const side = (client: Client, pid: number, asked: Load) => ({
    load: () => asked(client, calls),
    operations: calls,
    pids: [pid],
  });
  return await alternate(side(ours, core.pid, load), side(theirs, server.pid, theirLoad), quick ? 7 : 21, 3);
}

const PEERS = { 'vscode-jsonrpc': 0.5, jayson: 0.3, 'grpc-js': 0.15, ws: 1.0, http: 0.55 };

export const rows: readonly Row[] = [
  {
    id: 6,
    title: 'App socket: JSON-RPC round trip through the whole gate, against a raw echo of 128 bytes',
    goals: [
      { name: 'raw echo, CPU', goal: 1.5, floor: 1 },
      { name: 'raw echo, wall', goal: 1.5, floor: 1 },
    ],
    async run(options) {
      const { cpu, wall } = await against('echo', sequential, 4_000, options);
      return { 'raw echo, CPU': cpu, 'raw echo, wall': wall };
    },
  },
  {
    id: 7,
    title: 'App socket: the same against other ways to call (CPU)',
    goals: Object.entries(PEERS).map(([name, goal]) => ({ name, goal })),
    async run(options) {
      const measured: Record<string, Measured> = {};
      for (const kind of Object.keys(PEERS)) measured[kind] = (await against(kind, sequential, 1_000, options)).cpu;
      return measured;
    },
  },
  {
    id: 8,
    title: 'App socket: 64 calls in flight (CPU)',
    goals: [
      { name: 'jayson', goal: 0.08 },
      { name: 'raw echo, one at a time', goal: 0.4 },
    ],
    async run(options) {
      const load: Load = (client, calls) => parallel(client, calls, 64);
      return {
        jayson: (await against('jayson', load, 2_048, options)).cpu,
        'raw echo, one at a time': (await against('echo', load, 4_096, options, sequential)).cpu,
      };
    },
  },
];
