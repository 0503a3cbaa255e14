/** The greedy app of row 26: a thread of its own, so that the innocent does not wait for it in the bench. It ends when it is told to. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { connectApp } from '@device-core/plugin-api/app';

export interface Greed {
  readonly appId: string;
  readonly rpcSocket: string;
  /** Calls at once. */
  readonly wide: number;
  readonly params: object;
}

const { appId, rpcSocket, wide, params } = workerData as Greed;
const app = await connectApp({ appId, rpcSocket });
let over = false;
parentPort!.once('message', () => {
  over = true;
});
parentPort!.postMessage('begun');
await Promise.all(
  Array.from({ length: wide }, async () => {
    // Most are refused with BUSY, and asked for again.
    while (!over) await app.call('spi.transfer', params).catch(() => sleep(20));
  }),
);
app.close();
