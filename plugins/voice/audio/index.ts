import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { audio, audioDevice, echoCanceller } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { Ears } from './ears.ts';
import { EchoStage } from './echo.ts';
import { FarEnd } from './far-end.ts';
import { Levels } from './levels.ts';
import { audioOperations } from './operations.ts';
import { Player } from './player.ts';
import { AudioService } from './service.ts';
import { KeptSettings } from './settings.ts';
import { captureStream, playbackStream } from './streams.ts';

interface Settings {
  readonly volume: number;
  readonly duckDb: number;
  readonly sounds: number;
  readonly soundsPerOwner: number;
  readonly stallMs: number;
  readonly queueMs: number;
  readonly echo: { readonly deadlineMs: number; readonly aheadMs: number };
}

const FRAME_MS = 20;

export const plugin = definePlugin<{ device: typeof device; operations: typeof operations }, Settings>({
  requires: { device, operations },
  async setup(host, services) {
    const { scope, log, bus, capabilities } = host;
    const { volume, duckDb, sounds, soundsPerOwner, stallMs, queueMs, echo: echoSettings } = host.config;
    const { paths } = await services.device.info();
    const kept = await KeptSettings.open(join(paths.var, 'audio', 'state.json'), { volume, muted: false }, scope, log);
    const onChange = () => service.changed();
    const farEnd = new FarEnd();
    const levels = new Levels(scope, (count) =>
      log.warn({ count }, 'levels were read too slowly: the oldest were dropped'),
    );
    const echo = new EchoStage({ scope, log, farEnd, ...echoSettings, hand: (frame) => ears.hand(frame) });
    const player = new Player({
      scope,
      volume: kept.value.volume,
      duckDb,
      sounds,
      soundsPerOwner,
      stallMs,
      onChange,
      farEnd,
      levels,
    });
    let lost = 0;
    const ears: Ears = new Ears({
      scope,
      queue: Math.ceil(queueMs / FRAME_MS),
      clean: (frame) => echo.take(frame),
      forget: () => echo.clear(),
      onChange,
      onLoss(owner, frames) {
        lost += frames;
        log.warn({ owner, frames, lost }, `${owner} hears too slowly: frames were dropped`);
      },
    });
    const service: AudioService = new AudioService({ ears, player, levels, kept, log });
    host.provide(audio, {
      state: () => service.state(),
      capture: (options) => service.capture(options),
      play: (sound, options) => service.play(sound, options),
      tones: (list, options) => service.tones(list, options),
      feedback: (sound, options) => service.feedback(sound, options),
      levels: (options) => service.levels(options),
      setVolume: (value) => service.setVolume(value),
      setMuted: (muted) => service.setMuted(muted),
      onState: (listener) => service.onState(listener),
    });
    let heard = '';
    let level: number | undefined;
    scope.use(
      'events of sound',
      service.onState((state) => {
        const { capturing, muted } = state;
        const hears = JSON.stringify({ capturing, muted });
        if (hears !== heard) bus.publish('audio.capture', { capturing, muted });
        heard = hears;
        if (level !== undefined && level !== state.volume) bus.publish('audio.volume', { volume: state.volume });
        level = state.volume;
      }),
    );
    for (const operation of audioOperations(service, capabilities))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
    for (const stream of [captureStream(service), playbackStream(service, capabilities)])
      scope.use(`stream ${stream.name}`, services.operations.addStream(stream));
    host.when(audioDevice, (implementation, part) => service.attach(implementation, part));
    host.when(echoCanceller, (canceller, part) => echo.attach(canceller, part));
    host.tap('health.collect', (report) => {
      const { problem } = service.now;
      if (problem !== undefined)
        report.add('audio', { status: 'waiting', code: 'AUDIO_UNAVAILABLE', message: problem });
      else report.add('audio', { status: 'okay' });
      kept.tell(report);
      if (echo.health) report.add('audio.echo', echo.health);
    });
  },
});
