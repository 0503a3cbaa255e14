/** Frames of the microphone on their way to a service. */

import { bytesOfSamples } from '@device-core/plugin-api/audio';
import { type AudioFrame, CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import type { Connection } from './connection.ts';

const FORMAT = { rate: CAPTURE_RATE, width: 2, channels: 1 };

/**
 * Sends `audio-start`, a chunk for each frame, and `audio-stop` when they end; stops where the connection does. A chunk
 * carries the milliseconds since the first frame; `sent` is told them with each frame.
 */
export async function feed(
  connection: Connection,
  frames: AsyncIterator<AudioFrame>,
  sent?: (frame: AudioFrame, timestamp: number) => void,
): Promise<'ended' | 'cut'> {
  await connection.send('audio-start', { ...FORMAT, timestamp: 0 });
  let first: number | undefined;
  let timestamp = 0;
  for (;;) {
    const item = await nextUnless(frames, connection.signal);
    if (item === undefined) return 'cut';
    if (item.done) break;
    const frame = item.value;
    first ??= frame.at;
    timestamp = Math.max(0, Math.round(frame.at - first));
    sent?.(frame, timestamp);
    await connection.send('audio-chunk', { ...FORMAT, timestamp }, bytesOfSamples(frame.samples));
  }
  await connection.send('audio-stop', { timestamp });
  return 'ended';
}

/** Tells the source that nobody reads on, without waiting: a microphone that is muted may not answer for long. */
export function leave(frames: AsyncIterator<AudioFrame>): void {
  void Promise.resolve(frames.return?.()).catch(() => undefined); // how it ends concerns nobody here
}

/** Undefined when the signal aborts. Nothing is left behind at a signal that lives for days. */
async function nextUnless<T>(items: AsyncIterator<T>, signal: AbortSignal): Promise<IteratorResult<T> | undefined> {
  if (signal.aborted) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T> | undefined>();
  const stop = () => resolve(undefined);
  signal.addEventListener('abort', stop, { once: true });
  items.next().then(resolve, reject);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
