import type { Capabilities } from '@device-core/plugin-api';
import { bytesOfSamples, SampleReader } from '@device-core/plugin-api/audio';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Audio, PcmChunk } from '@device-core/plugin-api/services/audio';
import type { StreamEndpoint } from '@device-core/plugin-api/services/operations';
import { optionsOf, ownerOf, PRIORITIES, type Wanted } from './operations.ts';

/** The microphone: 640 bytes (s16le, 16 kHz, mono) every 20 ms. While it is muted nothing comes; a slow reader loses the oldest. */
export function captureStream(audio: Audio): StreamEndpoint<object> {
  return {
    name: 'audio.capture',
    summary: 'The microphone, 20 ms at a time, as 320 samples of 16 bits (little endian, 16 kHz)',
    direction: 'read',
    capability: 'audio.capture',
    // To listen in a room is more than to look at a device.
    viewers: false,
    params: exactly({}),
    async run(_, channel, { caller }) {
      const { signal } = channel;
      try {
        for await (const { samples } of audio.capture({ owner: ownerOf(caller), signal }))
          await channel.send(bytesOfSamples(samples));
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}

/** Plays the bytes of the app as they come, in samples of 16 bits (little endian). */
export function playbackStream(
  audio: Audio,
  capabilities: Capabilities,
): StreamEndpoint<Wanted & { readonly rate: number }> {
  return {
    name: 'audio.playback',
    summary: 'Sound of an app, as samples of 16 bits (little endian, mono)',
    direction: 'write',
    capability: 'audio.playback',
    params: exactly(
      {
        rate: { type: 'integer', minimum: 8_000, maximum: 192_000, description: 'Hz' },
        priority: { enum: PRIORITIES, default: 'media' },
        gain: { type: 'number', minimum: 0, maximum: 1, default: 1 },
      },
      ['rate'],
    ),
    async run({ rate, ...wanted }, channel, { caller }) {
      const options = optionsOf(wanted, { caller, signal: channel.signal }, capabilities);
      try {
        await audio.play(soundOf(channel.incoming, rate), options);
      } catch (error) {
        if (!channel.signal.aborted) throw error;
      }
    },
  };
}

async function* soundOf(incoming: AsyncIterable<Uint8Array>, rate: number): AsyncGenerator<PcmChunk> {
  const reader = new SampleReader();
  for await (const bytes of incoming) yield { rate, samples: reader.read(bytes) };
}
