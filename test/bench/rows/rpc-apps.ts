/** Rows 9 and 45: a call from one app to another, by way of the Core, against the same on D-Bus; a large one against an echo. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { alternate, type Measured, type Row, type RunOptions } from '../harness.ts';
import {
  type Client,
  dbusClient,
  echoClient,
  moverClient,
  sdkClient,
  sequential,
  start,
  TEXT,
  temporary,
} from '../workloads/rpc-clients.ts';

const CALLS = 1_000;

/** dbus-daemon (Debian package dbus-daemon) on a socket of its own; undefined where it is not installed. */
async function dbusDaemon(path: string): Promise<(Disposable & { readonly pid: number }) | undefined> {
  const daemon = spawn('dbus-daemon', ['--session', '--nofork', '--print-address', `--address=unix:path=${path}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const begun = await Promise.race([
    once(daemon.stdout, 'data').then(() => true),
    once(daemon, 'error').then(() => false),
    once(daemon, 'exit').then(() => false),
  ]);
  return begun ? { pid: daemon.pid!, [Symbol.dispose]: () => void daemon.kill() } : undefined;
}

async function large(text: string, { quick }: RunOptions): Promise<Measured> {
  using place = temporary();
  const path = join(place.path, 'peer.sock');
  using echo = await start('rpc-servers.ts', 'echo', path);
  using core = await start('rpc-core.ts');
  const sockets = core.said as { readonly a: string; readonly b: string };
  using callee = await start('rpc-mover.ts', sockets.b);
  const params = { app: 'com.example.b', name: 'bench.answer', inputs: { text } };
  await using ours = await moverClient(sockets.a, { jsonrpc: '2.0', id: 7, method: 'functions.call', params });
  await using theirs = await echoClient(path, text.length);
  const side = (client: Client, pids: readonly number[]) => ({
    load: () => sequential(client, 30),
    operations: 30,
    pids,
  });
  return (await alternate(side(ours, [core.pid, callee.pid]), side(theirs, [echo.pid]), quick ? 7 : 21, 3)).cpu;
}

export const rows: readonly Row[] = [
  {
    id: 9,
    title: 'App A -> Core -> app B -> back, against dbus-daemon with dbus-next at both ends',
    goals: [
      { name: 'D-Bus, wall', goal: 0.6 },
      { name: 'D-Bus, CPU', goal: 0.35 },
    ],
    async run({ quick }) {
      using place = temporary();
      const path = join(place.path, 'bus');
      using daemon = await dbusDaemon(path);
      if (!daemon) return {};
      using service = await start('rpc-callees.ts', 'dbus', path);
      using core = await start('rpc-core.ts');
      const sockets = core.said as { readonly a: string; readonly b: string };
      using callee = await start('rpc-callees.ts', 'app', sockets.b);
      const request = { app: 'com.example.b', name: 'bench.answer', inputs: { text: TEXT } };
      await using ours = await sdkClient(sockets.a, 'functions.call', request);
      await using theirs = await dbusClient(path);
      const side = (client: Client, pids: readonly number[]) => ({
        load: () => sequential(client, CALLS),
        operations: CALLS,
        pids,
      });
      const ourSide = side(ours, [core.pid, callee.pid]);
      const { wall, cpu } = await alternate(ourSide, side(theirs, [daemon.pid, service.pid]), quick ? 7 : 21, 3);
      return { 'D-Bus, wall': wall, 'D-Bus, CPU': cpu };
    },
  },
  {
    id: 45,
    title: '900 KB of parameters from app to app, against an echo of as many bytes; apps that move bytes (CPU)',
    goals: [{ name: 'raw echo', goal: 4 }],
    run: async (options) => ({ 'raw echo': await large('x'.repeat(900_000), options) }),
  },
];
