/**
 * Preloaded into the suites of a plugin at a level. It counts the guests with this plugin, and adds a line with their number to the file
 * DEVICE_TEST_GUESTS at the end: suites whose hosts all ran inline have shown nothing of the level. After DEVICE_TEST_MOST_GUESTS the hosts
 * that follow are inline.
 */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { ISOLATED_VARIABLE, ISOLATION_VARIABLE } from '@device-core/plugin-api/testing';

const { [ISOLATED_VARIABLE]: id, DEVICE_TEST_GUESTS: file, DEVICE_TEST_MOST_GUESTS: most } = process.env;
let guests = 0;

function count(): void {
  guests += 1;
  if (most !== undefined && guests >= Number(most)) process.env[ISOLATION_VARIABLE] = 'inline';
}

subscribe('worker_threads', (message) => {
  if ((message as { readonly worker: Worker }).worker.threadName === `plugin ${id}`) count();
});
subscribe('child_process', (message) => {
  const { process: child } = message as { readonly process: ChildProcess };
  // Its arguments are there once it has been started.
  queueMicrotask(() => {
    if (child.spawnargs?.at(-1)?.includes(`"plugin":"${id}"`)) count();
  });
});
process.on('exit', () => {
  if (file !== undefined) appendFileSync(file, `${guests}\n`);
});
