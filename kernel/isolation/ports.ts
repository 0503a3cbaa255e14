import type { Duplex } from 'node:stream';
import { DefaultSerializer, deserialize } from 'node:v8';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { Message, Port } from './remote/index.ts';

export interface ThreadPort extends Port {
  /** Resolves when all that the other side has sent was taken; to be called when it has ended. */
  drained(): Promise<void>;
}

/** One end of a channel between threads. */
export function threadPort(port: MessagePort, onBreach: (error: Error) => void): ThreadPort {
  // The bound method is safe from later changes of the class by a plugin.
  const post = port.postMessage.bind(port);
  let held: unknown[] = [];
  let listener: (() => void) | undefined;
  let closed = false;
  const arrived = (messages: unknown): void => {
    held.push(messages);
    listener?.();
  };
  const next = (): unknown => receiveMessageOnPort(port)?.message;
  port.on('messageerror', onBreach);
  return {
    clones: true,
    post: (messages, transfer) => post(messages, transfer as ArrayBuffer[]),
    onMessage(fn) {
      listener = fn;
      port.on('message', arrived);
    },
    take: () => held.shift() ?? next(),
    // Without a listener the port takes nothing from its channel, be it in the middle of many messages.
    pause: () => void port.off('message', arrived),
    resume: () => void port.on('message', arrived),
    close() {
      closed = true;
      held = [];
      port.close();
    },
    async drained() {
      port.off('message', arrived);
      for (let last = next(); last !== undefined; last = next()) held.push(last);
      while (held.length > 0 && !closed) {
        listener?.();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

const HEAD = 4;
const NO_LENGTH = Buffer.alloc(HEAD);
/** A batch of messages; each of them is bounded by its peer. */
const MAX_FRAME = 64 << 20;

/**
 * A pipe to or from a process: each batch of messages is a frame of its length (32 bits, little-endian) and its bytes
 * as `v8.serialize` makes them. Unlike the channel of child_process it refuses a frame before taking it in, and leaves
 * it to the reader how fast it reads.
 */
export function pipePort(pipe: Duplex, onBreach: (error: Error) => void): Port {
  let listener: (() => void) | undefined;
  let chunks: Buffer[] = [];
  let held = 0;
  let wanted = HEAD;
  let inBody = false;
  const cut = (length: number): Buffer => {
    const [first] = chunks;
    const all = chunks.length === 1 && first ? first : Buffer.concat(chunks, held);
    const rest = all.subarray(length);
    chunks = rest.length > 0 ? [rest] : [];
    held = rest.length;
    return all.subarray(0, length);
  };
  const take = (): unknown => {
    while (held >= wanted) {
      const bytes = cut(wanted);
      const length = inBody ? HEAD : bytes.readUInt32LE();
      if (length > MAX_FRAME)
        throw new RangeError(`a message of ${length} bytes came, at most ${MAX_FRAME} are allowed`);
      inBody = !inBody;
      wanted = length;
      if (!inBody) return deserialize(bytes);
    }
    return undefined;
  };
  pipe.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    held += chunk.length;
    if (held >= wanted) listener?.();
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
      if (held >= wanted) fn();
    },
    take() {
      try {
        return take();
      } catch (error) {
        pipe.destroy();
        onBreach(error as Error);
        return undefined;
      }
    },
    pause: () => void pipe.pause(),
    resume: () => void pipe.resume(),
    close: () => void pipe.end(),
  };
}
