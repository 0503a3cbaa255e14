/** Sends everything back: the bare echo of a worker and of a process. */
import { parentPort } from 'node:worker_threads';

if (parentPort) parentPort.on('message', (message) => parentPort!.postMessage(message));
else process.on('message', (message) => process.send?.(message));
