/** Whether somebody listens on a socket file: a process that is stopped or busy does. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { removeStaleSocket } from '@device-core/plugin-api/inside/socket-file';
import { leakCheck } from '@device-core/plugin-api/testing';

after(leakCheck());

const folder = mkdtempSync(join(tmpdir(), 'sf-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Listens with a row of one, and never takes anything: it is stopped. */
async function stoppedListener(path: string): Promise<ChildProcess> {
  const program = `require('node:net').createServer().listen({ path: ${JSON.stringify(path)}, backlog: 1 }, () => console.log('listens'))`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
  child.kill('SIGSTOP');
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('the file of a socket', () => {
  test('of a process that is stopped is not removed, neither with room in its row nor with a row that is full', async () => {
    const path = join(folder, 'stopped.sock');
    const child = await stoppedListener(path);
    const sockets: Socket[] = [];
    let full = false;
    for (let count = 0; count < 16 && !full; count++) {
      assert.equal(await removeStaleSocket(path), 'occupied', `${count} wait already`);
      const socket = connect(path);
      sockets.push(socket);
      await once(socket, 'connect').catch(() => {
        full = true;
      });
    }
    assert.ok(full, 'its row is full');
    assert.equal(await removeStaleSocket(path), 'occupied');
    assert.ok(existsSync(path));
    for (const socket of sockets) socket.destroy();
    await ended(child);
  });

  test('of a process that was killed is removed', async () => {
    const path = join(folder, 'killed.sock');
    await ended(await stoppedListener(path));
    assert.ok(existsSync(path));
    assert.equal(await removeStaleSocket(path), 'free');
    assert.equal(existsSync(path), false);
  });

  test('that is none, or not there, is told', async () => {
    const path = join(folder, 'text');
    writeFileSync(path, '');
    assert.equal(await removeStaleSocket(path), 'foreign');
    assert.equal(await removeStaleSocket(join(folder, 'none')), 'free');
  });

  test('of this very process is occupied', async () => {
    const path = join(folder, 'own.sock');
    const server = createServer().listen(path);
    await once(server, 'listening');
    assert.equal(await removeStaleSocket(path), 'occupied');
    await new Promise((resolve) => server.close(resolve));
  });
});
