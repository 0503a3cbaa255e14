import type { StreamChannel } from '../../services/operations.ts';

/** Stream of a source to a reading app. */
export interface Outflow {
  /** False where the reader is too slow and the piece is dropped; the source tells of it in a later one. */
  offer(piece: Uint8Array): boolean;
}

/**
 * Sends what `follow` offers to the reader of a stream, at most `pieces` and `bytes` ahead of it: what comes when that
 * is full is dropped, newest first. Resolves when the stream is over.
 */
export async function outflow(
  channel: StreamChannel,
  limits: { readonly pieces: number; readonly bytes: number },
  follow: (out: Outflow) => Disposable,
): Promise<void> {
  const waiting: Uint8Array[] = [];
  let bytes = 0;
  let wake = Promise.withResolvers<void>();
  using _source = follow({
    offer(piece) {
      if (waiting.length >= limits.pieces || bytes + piece.length > limits.bytes) return false;
      waiting.push(piece);
      bytes += piece.length;
      wake.resolve();
      return true;
    },
  });
  channel.signal.addEventListener('abort', () => wake.resolve(), { once: true });
  while (!channel.signal.aborted) {
    const next = waiting.shift();
    if (next) {
      bytes -= next.length;
      await channel.send(next);
    } else {
      wake = Promise.withResolvers();
      await wake.promise;
    }
  }
}

/** The same for values that each become a line of JSON. Their `lost` counts what was dropped before, here or where they came from. */
export function outflowOfLines<T extends { readonly lost: number }>(
  channel: StreamChannel,
  lines: number,
  follow: (take: (value: T) => void) => Disposable,
): Promise<void> {
  let lost = 0;
  return outflow(channel, { pieces: lines, bytes: Number.POSITIVE_INFINITY }, (out) =>
    follow((value) => {
      const line = `${JSON.stringify({ ...value, lost: value.lost + lost })}\n`;
      if (out.offer(Buffer.from(line))) lost = 0;
      else lost += 1 + value.lost;
    }),
  );
}
