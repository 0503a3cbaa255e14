/** Row 9: a call from one app to another, by way of the Core, against the same on D-Bus. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { alternate, type Row } from '../harness.ts';
import { type Client, dbusClient, sdkClient, sequential, start, TEXT, temporary } from '../workloads/rpc-clients.ts';

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
];
