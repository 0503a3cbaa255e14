/** Clients that write all of a request before they read the answer: one that is closed upon in the middle finds a broken pipe instead of the reason. */
import type { IncomingMessage } from 'node:http';

/** Bytes of a body that nobody wants which are still taken. */
const MOST = 4 * 1024 * 1024;

/** Acts when what is left of the body has come, or too much of it; how long that may take is the time limit of the request. */
export function afterUnread(request: IncomingMessage, act: () => void): void {
  if (request.complete || request.destroyed || Number(request.headers['content-length']) > MOST) {
    act();
    return;
  }
  let left = MOST;
  const take = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) stop();
  };
  const stop = (): void => {
    request.off('data', take).off('end', stop).off('close', stop);
    act();
  };
  request.on('data', take).on('end', stop).on('close', stop);
}
