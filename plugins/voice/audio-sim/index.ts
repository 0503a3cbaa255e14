import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { audioDevice, CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { Microphone, type Periods } from './microphone.ts';
import { simOperations } from './operations.ts';
import { Recordings } from './recordings.ts';
import { Room } from './room.ts';
import { Speaker } from './speaker.ts';

interface Settings extends Periods {
  readonly playRate: number;
  readonly keep: number;
  readonly mostSeconds: number;
  readonly echo: { readonly gain: number; readonly delayMs: number };
}

/** Seconds of sound that may wait to be heard. */
const ROOM_SECONDS = 120;

export const plugin = definePlugin<{ device: typeof device; operations: typeof operations }, Settings>({
  requires: { device, operations },
  async setup(host, services) {
    const { scope, log } = host;
    const { playRate, keep, mostSeconds, echo } = host.config;
    const { paths } = await services.device.info();
    let problem: string | undefined;
    const onProblem = (reason: string | undefined): void => {
      if (reason !== undefined && problem === undefined) log.warn({ reason }, 'cannot keep what the speaker plays');
      problem = reason;
    };
    const folder = join(paths.var, 'audio-sim');
    const recordings = new Recordings({ folder, keep, mostSeconds, rate: playRate, onProblem });
    await recordings.open();
    const room = new Room(ROOM_SECONDS);
    const microphone = new Microphone(scope, room, host.config);
    const speaker = new Speaker({ scope, rate: playRate, recordings, room, echo });
    host.provide(audioDevice, {
      info: async () => ({ driver: 'sim', source: 'simulated microphone', sink: 'simulated speaker', playRate }),
      capture: ({ signal }) => microphone.capture(signal),
      mute: async (muted) => microphone.mute(muted),
      play: (chunks, { signal, started }) => speaker.play(chunks, signal, started),
    });
    for (const operation of simOperations({ scope, room, microphone, recordings }))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    host.tap('health.collect', (report) => {
      if (problem === undefined) report.add('audio-sim', { status: 'okay' });
      else report.add('audio-sim', { status: 'error', code: 'STATE_UNWRITABLE', message: problem });
    });
    log.debug({ captureRate: CAPTURE_RATE, playRate, folder }, 'simulated microphone and speaker');
  },
});
