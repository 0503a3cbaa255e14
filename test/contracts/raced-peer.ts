/** A guest whose child connects to the Core and is gone before the Core accepts: for every supervisor the same. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { descriptorOf, maybe } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import type { AppLaunch } from '@device-core/plugin-api/inside/services/identity';
import type { ProcessOwner } from '@device-core/plugin-api/inside/services/processes';
import { ProcessBook } from '../../kernel/walls/processes.ts';
import { loadPeerReader } from '../../plugins/interface/identity/peer-credentials.ts';
import { settledPeer } from '../../plugins/interface/identity/settled-peer.ts';

/** The guest becomes this program when its child is gone; no other process sleeps so long. */
const MARK = ['sleep', `987654.${process.pid}`] as const;
const MOST_MS = 30_000;

export const WITHOUT_PYTHON = existsSync('/usr/bin/python3') ? false : 'python3 is not installed';

/** Script of the shell. One socket is shared by both processes: the child connects it, and the guest keeps it. */
export function racingScript({ run }: Pick<AppSpec, 'run'>): string {
  const python = `import os, socket, time
s = socket.socket(socket.AF_UNIX)
child = os.fork()
while child == 0:
    try:
        s.connect("${join(run, 'raced.sock')}")
        os._exit(0)
    except OSError:
        time.sleep(0.02)
os.waitpid(child, 0)
s.set_inheritable(True)
os.execv("/usr/bin/sleep", ["${MARK.join('", "')}"])`;
  return `exec /usr/bin/python3 -c '${python}'`;
}

/** Owner of that connection, as it is settled at accept. `begin` starts the guest and tells how it is known. */
export async function ownerOfRaced(
  { id, run }: Pick<AppSpec, 'id' | 'run'>,
  begin: () => Promise<Pick<AppLaunch, 'pid' | 'uid'>>,
): Promise<ProcessOwner | undefined> {
  const reader = await loadPeerReader();
  const book = new ProcessBook();
  const launch = await begin();
  await book.add({ kind: 'app', id }, maybe({ pid: launch.pid, uid: launch.uid }));
  const server = createServer();
  const sockets: Socket[] = [];
  try {
    const connected = once(server, 'connection');
    server.listen(join(run, 'raced.sock'));
    chmodSync(join(run, 'raced.sock'), 0o666);
    // The loop stands still, and so nothing is accepted.
    const end = performance.now() + MOST_MS;
    while (!isMarked()) {
      assert.ok(performance.now() < end, 'the guest never connected');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
    const [socket] = (await connected) as [Socket];
    sockets.push(socket);
    return (await settledPeer(descriptorOf(socket)!, reader, book))?.owner;
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

function isMarked(): boolean {
  return readdirSync('/proc').some((name) => /^\d+$/.test(name) && commandOf(name) === `${MARK.join('\0')}\0`);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return ''; // it has just ended
  }
}
