/** A serial line over two processes of the Core and what a service manager holds of it. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { CoreProcess, TemporaryRoot } from '../../fixtures/core-process.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { openPty } from '../../fixtures/pty.ts';
import { WITHOUT_PYTHON } from '../../fixtures/python.ts';

after(leakCheck());

const MANAGER = resolve(import.meta.dirname, '../../fixtures/service_manager.py');
const skuOf = (line: string) => `skuVersion: 1
id: wired
title: A serial line that stays open
plugins:
  operations: ^1.0.0
  identity: ^1.0.0
  system: ^1.0.0
  http: ^1.0.0
  systemd: ^1.0.0
  endpoints: ^1.0.0
  host-uart: { version: ^1.0.0, config: { lines: [{ name: serial, path: ${line} }] } }
  uart: { version: ^1.0.0, config: { handles: [{ name: line, endpoint: serial, baud: 31250 }] } }
`;

test('a serial line stays open when the Core is killed, and the next one has the bytes that came meanwhile', {
  skip: WITHOUT_PYTHON,
}, async () => {
  using root = new TemporaryRoot();
  using pty = openPty();
  const sku = join(root.path, 'sku.yaml');
  writeFileSync(sku, skuOf(pty.path));
  const env = { NOTIFY_SOCKET: join(root.path, 'notify') };
  await using core = new CoreProcess(root.path, ['--sku', sku], env, ['python3', MANAGER]);
  await core.ready();
  await eventually(() => core.err.includes('manager: stored held/host-uart.serial, poll 0'), 'the descriptor');
  pty.letGo();
  assert.equal((await core.post('/UART_write', { handle: 'line', tx: 'AQ==' })).body.written, 1);
  const pid = Number(/started (\d+) with 0/.exec(core.err)?.[1]);
  core.out = '';
  pty.say(Buffer.from('be'));
  await eventually(async () => (await core.post('/UART_read', { handle: 'line' })).body.rx === 'YmU=', 'bytes before');
  process.kill(pid, 'SIGKILL');
  await eventually(() => /started \d+ with 1/.test(core.err), 'another process');
  pty.say(Buffer.from('meanwhile'));
  assert.ok(pty.isOpen());
  await core.ready();
  assert.ok(pty.isOpen());
  const { body } = await core.post('/UART_read', { handle: 'line', timeoutMs: 5_000 });
  assert.equal(Buffer.from(body.rx, 'base64').toString(), 'meanwhile');
  // An end in order leaves it with the manager, too.
  core.process.kill('SIGTERM');
  await core.ended;
  assert.doesNotMatch(core.err, /manager: removed held\/host-uart.serial\n(?!manager: stored)/);
});
