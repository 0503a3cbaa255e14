/** The boot loader without systemd: it runs the Core as a child, hears READY over a pipe, and ends as the Core does. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { SLOT_FILES, SlotWorld } from '../../fixtures/slot-world.ts';

const MAIN = resolve(import.meta.dirname, '../../../kernel/init/main.ts');

for (const [what, script, status, result, text] of [
  ['READY, then 5', 'echo READY=1 >&3; exit 5', 5, 'failure', 'exit-code exited 5'],
  ['0 before READY is no success', 'exit 0', 0, 'failure', 'protocol exited 0'],
  ['a signal', 'kill -KILL $$', 137, 'failure', 'signal killed SIGKILL'],
  [
    'TERM is passed on',
    'trap "exit 0" TERM; kill -TERM $PPID; while :; do sleep 0.05; done',
    0,
    'success',
    'success exited 0',
  ],
] as const)
  test(`the end of the Core is kept: ${what}`, () => {
    using world = new SlotWorld();
    world.slot('a', '1.0.0', { ...SLOT_FILES, 'bin/node': { text: `#!/bin/sh\n${script}\n`, mode: 0o755 } });
    const places = ['--system', world.path('system'), '--run', world.path('run'), '--core', world.path('core')];
    const ran = spawnSync(process.execPath, [MAIN, 'run', ...places], { encoding: 'utf8' });
    assert.equal(ran.status, status, ran.stderr);
    const { last } = world.record();
    assert.deepEqual([last?.result, last?.text], [result, text]);
  });
