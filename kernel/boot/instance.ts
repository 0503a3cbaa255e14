/** One Core per run folder. Runs before everything else: node:* imports only. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

export type Instance = { readonly mine: true; release(): void } | { readonly mine: false; readonly pid: string };

/**
 * Claims the run folder. The claim is an abstract Unix socket named after it: two processes cannot bind the same name, and the system frees
 * it with the process that held it, however that ended; so no stale file and no recycled pid can mislead. `core.pid` is for people.
 */
export async function claimInstance(run: string): Promise<Instance> {
  mkdirSync(run, { recursive: true });
  const name = `\0device-core.${createHash('sha256').update(realpathSync(run)).digest('hex').slice(0, 32)}`;
  const file = join(run, 'core.pid');
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy()); // the caller has gone
    socket.end(String(process.pid));
  });
  server.listen(name);
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    return { mine: false, pid: (await holder(name)) ?? pidIn(file) };
  }
  writePid(file);
  return { mine: true, release: () => void rmSync(file, { force: true }) };
}

/** For people: a run folder that is full or read-only keeps no Core from starting. */
function writePid(file: string): void {
  try {
    rmSync(file, { force: true });
    writeFileSync(file, `${process.pid}\n`, { mode: 0o640 });
  } catch (error) {
    process.stderr.write(`warning: cannot write ${file}: ${(error as Error).message}\n`);
  }
}

/** Its process id; undefined when it ended just now, or hangs. That it is there is known already: this is for the message alone. */
async function holder(name: string): Promise<string | undefined> {
  const socket = connect(name);
  socket.setTimeout(1_000, () => socket.destroy(new Error('no answer')));
  return text(socket).catch(() => undefined);
}

function pidIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
