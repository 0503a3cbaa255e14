/** The socket of the warden: one line in, one line out, whatever a caller does to it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { serve } from '../../systemd/helpers/warden/serve.ts';

after(leakCheck());

describe('the socket of the warden', () => {
  async function served(idleMs: number, answer: (line: string) => Promise<string>) {
    const folder = mkdtempSync(join(tmpdir(), 'warden-'));
    const server = createServer();
    await once(server.listen(join(folder, 'sock')), 'listening');
    const over = serve(server, answer, idleMs).finally(() => rmSync(folder, { recursive: true }));
    const ask = async (request: string) => {
      const socket = connect(join(folder, 'sock'));
      socket.write(request);
      return text(socket).catch((error: NodeJS.ErrnoException) => error.code ?? '');
    };
    return { ask, over, path: join(folder, 'sock') };
  }

  test('takes one line and gives one, in any order of callers; it closes without callers', async () => {
    let together = 0;
    const { ask, over } = await served(300, async (line) => {
      assert.equal(together++, 0);
      await new Promise((resolve) => setImmediate(resolve));
      together--;
      return line.toUpperCase();
    });
    assert.deepEqual(await Promise.all(['a\n', 'b\nmore\n', 'c\n'].map(ask)), ['A\n', 'B\n', 'C\n']);
    await over;
  });

  test('survives lines without end, half of one, and more callers than it takes', async () => {
    const { ask, over, path } = await served(300, async () => '{}');
    assert.match(await ask('x'.repeat(70_000)), /too long|ECONNRESET|EPIPE/);
    const many = await Promise.all(Array.from({ length: 40 }, () => ask('{"verb":"list"}\n')));
    assert.ok(many.includes('{}\n'));
    assert.equal(await ask('{}\n'), '{}\n');
    const half = connect(path);
    half.write('{"verb":');
    assert.equal(await ask('{}\n'), '{}\n');
    half.destroy();
    await over;
  });
});
