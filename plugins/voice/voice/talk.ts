/** Push to talk: the sound of a client is a turn, through the same ear as that of the microphone. */

import type { Scope } from '@device-core/plugin-api';
import { Latest, Reblocker, SampleReader, waitUntil } from '@device-core/plugin-api/audio';
import { exactly } from '@device-core/plugin-api/operation-kit';
import { type AudioFrame, FRAME_MS, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { StreamChannel, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { Conductor } from './conductor.ts';
import type { Hearable } from './ear.ts';

/** Frames that wait while the microphone is let go. */
const WAITING_FRAMES = 2_000 / FRAME_MS;
/** A recording is heard no faster than somebody who speaks; the net may be so far ahead. */
const AHEAD_MS = 100;

export function talkStream(conductor: Conductor, scope: Scope): StreamEndpoint<object> {
  return {
    name: 'voice.talk',
    summary:
      'Talk to the device: samples of 16 bits (little endian, 16 kHz, mono) until an empty chunk, which lets the button go. Back come the turn when it begins and when it is over, as JSON',
    direction: 'duplex',
    capability: 'system.voice',
    params: exactly({}),
    async run(_, channel) {
      const { signal } = channel;
      const tell = (value: object) => channel.send(Buffer.from(JSON.stringify(value)));
      const talker = new Talker(channel, scope);
      let told: Promise<unknown> = Promise.resolve();
      const began = (turn: string) => {
        void talker.read();
        // A client that has gone needs no message.
        told = tell({ turn }).catch(() => undefined);
      };
      const turn = await conductor.talk(talker, began, signal);
      await told;
      if (!signal.aborted) await tell(turn);
    },
  };
}

class Talker implements Hearable {
  readonly #channel: StreamChannel;
  readonly #scope: Scope;
  readonly #frames = new Latest<AudioFrame>(WAITING_FRAMES);

  constructor(channel: StreamChannel, scope: Scope) {
    this.#channel = channel;
    this.#scope = scope;
  }

  async *capture({ signal }: { readonly signal: AbortSignal }): AsyncGenerator<AudioFrame> {
    const stop = () => this.#frames.close();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      yield* this.#frames;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  /** Reads until the button is released or the client has gone. Never rejects: a channel that fails has gone. */
  async read(): Promise<void> {
    const reader = new SampleReader();
    const blocks = new Reblocker();
    let seq = 0;
    let at = monotonicMs();
    try {
      for await (const bytes of this.#channel.incoming) {
        if (bytes.length === 0) break;
        for (const samples of blocks.push(reader.read(bytes))) {
          at = Math.max(at + FRAME_MS, monotonicMs());
          if (!(await waitUntil(this.#scope, at - AHEAD_MS, this.#channel.signal))) return;
          this.#frames.push({ seq: seq++, at, samples });
        }
      }
    } catch {
      // It has gone: its signal ends the turn.
    } finally {
      this.#frames.close();
    }
  }
}
