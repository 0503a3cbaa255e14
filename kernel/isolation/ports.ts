import type { Duplex } from 'node:stream';
import { DefaultSerializer, deserialize } from 'node:v8';
import type { MessagePort, Worker } from 'node:worker_threads';
import type { Message, Port } from './remote/index.ts';

/** A worker, or the parent of one. */
export function threadPort(port: MessagePort | Worker, close: () => void): Port {
  return {
    clones: true,
    post: (messages, transfer) => port.postMessage(messages, transfer as ArrayBuffer[]),
    onMessage: (listener) => void port.on('message', listener),
    close,
  };
}

const HEAD = 4;
const NO_LENGTH = Buffer.alloc(HEAD);
/** A batch of messages; each of them is bounded by its peer. */
const MAX_FRAME = 64 << 20;

/**
 * A pipe to or from a process: each batch of messages is a frame of its length (32 bits, little-endian) and its bytes as `v8.serialize` makes them.
 * Unlike the channel of child_process it refuses a frame before taking it in, and leaves it to the reader how fast it reads.
 */
export function pipePort(pipe: Duplex, onBreach: (error: Error) => void): Port {
  let listener: ((messages: unknown) => void) | undefined;
  let chunks: Buffer[] = [];
  let held = 0;
  let wanted = HEAD;
  let inBody = false;
  const take = (length: number): Buffer => {
    const [first] = chunks;
    const all = chunks.length === 1 && first ? first : Buffer.concat(chunks, held);
    const rest = all.subarray(length);
    chunks = rest.length > 0 ? [rest] : [];
    held = rest.length;
    return all.subarray(0, length);
  };
  const read = (chunk: Buffer): void => {
    chunks.push(chunk);
    held += chunk.length;
    while (held >= wanted) {
      const bytes = take(wanted);
      if (inBody) listener?.(deserialize(bytes));
      const length = inBody ? HEAD : bytes.readUInt32LE();
      if (length > MAX_FRAME)
        throw new RangeError(`a message of ${length} bytes came, at most ${MAX_FRAME} are allowed`);
      inBody = !inBody;
      wanted = length;
    }
  };
  pipe.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      pipe.destroy();
      onBreach(error as Error);
    }
  });
  pipe.on('error', () => pipe.destroy()); // the other end has gone, which its exit tells better
  return {
    clones: false,
    post(messages: readonly Message[]) {
      // One buffer and one write: two of each cost half as much again.
      const serializer = new DefaultSerializer();
      serializer.writeRawBytes(NO_LENGTH);
      serializer.writeHeader();
      serializer.writeValue(messages);
      const frame = serializer.releaseBuffer();
      frame.writeUInt32LE(frame.length - HEAD);
      pipe.write(frame);
    },
    onMessage(fn) {
      listener = fn;
    },
    close: () => void pipe.end(),
  };
}
