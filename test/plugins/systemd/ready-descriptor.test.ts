/** A Core that a boot loader runs without systemd says READY over a pipe. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { descriptorOf } from '../../../plugins/life/systemd/ready-descriptor.ts';

test('each message is a line of the pipe, again after the plugin was started again', async () => {
  const script = `import { descriptorOf } from ${JSON.stringify(new URL('../../../plugins/life/systemd/ready-descriptor.ts', import.meta.url).href)};
    for (const message of ['READY=1', 'STOPPING=1']) { const told = descriptorOf('3'); told.tell(message); told[Symbol.dispose](); }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  assert.equal(await text(child.stdio[3] as never), 'READY=1\nSTOPPING=1\n');
});

test('a descriptor that is no pipe is refused', () => {
  const file = openSync(import.meta.filename, 'r');
  for (const [name, says] of [
    ['x', /no descriptor/],
    ['1', /no descriptor/],
    ['-1', /no descriptor/],
    ['999', /EBADF/],
    [String(file), /no pipe/],
  ] as const)
    assert.throws(() => descriptorOf(name), says, name);
  closeSync(file);
});
