import { definePlugin } from '@device-core/plugin-api';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { type EngineKind, type Engines, speech } from '@device-core/plugin-api/services/speech';
import { engineMakers, type Maker, type Settings } from './makers.ts';
import { Part } from './part.ts';

export const plugin = definePlugin<{ speech: typeof speech }, Settings>({
  requires: { speech },
  async setup(host, services) {
    const { scope, log, config } = host;
    const owner = `plugin.${host.id}`;
    const part = <K extends EngineKind>(kind: K, make: Maker<Engines[K]>) =>
      new Part(kind, make, (description, engine) => {
        const registered = services.speech.register(kind, description, engine, owner);
        scope.use(`${kind} engine ${description.id}`, registered);
        log.info({ kind, engine: description.id }, 'an engine of sherpa-onnx is there');
      });
    const makers = engineMakers(config, scope);
    const parts = [
      makers.vad && part('vad', makers.vad),
      makers.stt && part('stt', makers.stt),
      makers.wake && part('wake', makers.wake),
      makers.tts && part('tts', makers.tts),
    ].filter((one) => one !== undefined);
    let looking: Promise<void> | undefined;
    const lookAtAll = async (): Promise<void> => {
      for (const one of parts) if (!scope.signal.aborted) await one.look();
    };
    const look = (): Promise<void> => {
      looking ??= lookAtAll().finally(() => {
        looking = undefined;
      });
      return looking;
    };
    // A large model takes longer to try than a plugin may take to start.
    void look();
    scope.interval('look for models', config.lookMs, look);
    host.tap('health.collect', (report: HealthReport) => {
      if (parts.length === 0) report.add(host.id, { status: 'okay', message: 'no engine is configured' });
      for (const one of parts) report.add(`${host.id}.${one.kind}`, one.health);
    });
  },
});
