/** Row 10: what it costs to hand bytes to an app as attachments, against base64 in JSON, both over streams with credit. */
import { type App, connectApp } from '@device-core/plugin-api/app';
import { alternate, type Measured, type Row, type RunOptions, type Side } from '../harness.ts';
import { start } from '../workloads/rpc-clients.ts';

interface Kind {
  readonly size: number;
  readonly credit: number;
  readonly chunks: number;
}

const KINDS: Readonly<Record<string, Kind>> = {
  'frame of 1 MB': { size: 1_000_000, credit: 4_000_000, chunks: 60 },
  'chunk of 640 bytes': { size: 640, credit: 640 * 64, chunks: 6_000 },
};

async function reader(app: App, { size, credit, chunks }: Kind, binary: boolean, pid: number): Promise<Side> {
  const stream = await app.openStream('bench.source', { size }, { binary, credit });
  const source = stream[Symbol.asyncIterator]();
  const load = async (): Promise<void> => {
    for (let bytes = 0; bytes < chunks * size; ) bytes += (await source.next()).value.length;
  };
  return { load, operations: chunks, pids: [pid] };
}

async function compare(kind: Kind, { quick }: RunOptions): Promise<Measured> {
  using core = await start('rpc-core.ts');
  const app = await connectApp({ rpcSocket: (core.said as { a: string }).a });
  try {
    const binary = await reader(app, kind, true, core.pid);
    const base64 = await reader(app, kind, false, core.pid);
    return (await alternate(binary, base64, quick ? 7 : 21, 3)).cpu;
  } finally {
    app.close();
  }
}

export const rows: readonly Row[] = [
  {
    id: 10,
    title: 'App socket: bytes as attachments against base64 in JSON (CPU)',
    goals: [
      { name: 'frame of 1 MB', goal: 0.2, floor: 0.05 },
      { name: 'chunk of 640 bytes', goal: 0.3 },
    ],
    async run(options) {
      const measured: Record<string, Measured> = {};
      for (const [name, kind] of Object.entries(KINDS)) measured[name] = await compare(kind, options);
      return measured;
    },
  },
];
