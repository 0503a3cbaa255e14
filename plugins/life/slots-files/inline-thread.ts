/** Stages in a thread of its own. It is told `stop` at most, and ends with its answer. */
import { parentPort, workerData } from 'node:worker_threads';
import { SlotWriter, slotRequests } from '@device-core/plugin-api/inside/slot-files';
import type { InlineWord, InlineWork } from './inline-writer.ts';

const { places, line } = workerData as InlineWork;
const say = (word: InlineWord): void => parentPort?.postMessage(word);
const stopped = new AbortController();
parentPort?.once('message', () => stopped.abort());
say(
  await slotRequests(new SlotWriter(places))(line, {
    progress: (progress) => say({ progress }),
    signal: stopped.signal,
  }),
);
parentPort?.close();
