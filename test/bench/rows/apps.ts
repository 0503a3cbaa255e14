/** Row 74: what a start of an app costs beside its bare program, and how soon its end is told. The same pair of bare programs is the control. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { stringify } from 'yaml';
import { startCore } from '../../fixtures/core.ts';
import { type Measured, quartiles, type Row } from '../harness.ts';

const ID = 'com.example.bench';
const SCRIPT = `
  require('node:net').connect(process.env.DEVICE_RPC_SOCKET).on('error', () => process.exit(9)).resume();
  setInterval(() => {}, 60_000);
`;
const PLUGINS = ['operations', 'identity', 'system', 'limits', 'rpc', 'supervisor-process', 'apps'];
/** A crash has to be over before the next round. */
const BACKOFF_MS = 30;

/** The program alone, until it has connected. */
async function bare(file: string, path: string): Promise<number> {
  const server = createServer((socket) => void socket.on('error', () => undefined).resume());
  await once(server.listen(path), 'listening');
  const began = performance.now();
  const child: ChildProcess = spawn(process.execPath, [file], { env: { DEVICE_RPC_SOCKET: path }, stdio: 'ignore' });
  await once(server, 'connection');
  const ms = performance.now() - began;
  child.kill('SIGKILL');
  await once(child, 'exit');
  server.close();
  return ms;
}

const shown = (values: readonly number[]) => `${quartiles(values).median.toFixed(1)} ms`;

function added(ours: readonly number[], theirs: readonly number[]): Measured {
  const more = ours.map((value, index) => value - theirs[index]!);
  return { ...quartiles(more), ours: shown(ours), theirs: shown(theirs) };
}

export const rows: readonly Row[] = [
  {
    id: 74,
    title: 'Start of an app to READY, beside its bare program; kill -9 until it is told',
    goals: [
      { name: 'start, more than bare', goal: 60, unit: 'ms' },
      { name: 'control: bare, more than bare', goal: 20, unit: 'ms' },
      { name: 'kill -9 told', goal: 100, unit: 'ms' },
    ],
    async run({ quick }) {
      const root = mkdtempSync(join(tmpdir(), 'dc-'));
      const folder = join(root, 'var/apps', ID);
      mkdirSync(folder, { recursive: true });
      const file = join(folder, 'main.cjs');
      writeFileSync(file, SCRIPT);
      const manifest = {
        manifestVersion: 1,
        id: ID,
        name: 'bench',
        version: '1.0.0',
        title: 'Bench',
        capabilities: [],
      };
      const lifecycle = { autostart: false };
      writeFileSync(
        join(folder, 'app.yaml'),
        stringify({ ...manifest, exec: { command: 'node', args: ['main.cjs'] }, lifecycle }),
      );
      const core = await startCore({
        root,
        plugins: Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0'])),
        config: { apps: { crash: { backoffMs: [BACKOFF_MS], limit: 10_000 } } },
      });
      try {
        const service = core.service(apps);
        const [ours, theirs, again, killed]: number[][] = [[], [], [], []];
        for (let round = 0; round < (quick ? 10 : 40); round += 1) {
          theirs!.push(await bare(file, join(root, 'bare.sock')));
          const began = performance.now();
          const { pid } = await service.start(ID);
          ours!.push(performance.now() - began);
          again!.push(await bare(file, join(root, 'bare.sock')));
          const { promise: told, resolve } = Promise.withResolvers<AppStatus>();
          using _ = service.onChange((status) => {
            if (status.state === 'backoff') resolve(status);
          });
          const kill = performance.now();
          process.kill(pid!, 'SIGKILL');
          await told;
          killed!.push(performance.now() - kill);
          await service.stop(ID);
          await sleep(BACKOFF_MS);
        }
        return {
          'start, more than bare': added(ours!, theirs!),
          'control: bare, more than bare': added(again!, theirs!),
          'kill -9 told': { ...quartiles(killed!), ours: shown(killed!) },
        };
      } finally {
        await core.stop();
        rmSync(root, { recursive: true, force: true });
      }
    },
  },
];
