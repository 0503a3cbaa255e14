import { definePlugin } from '@device-core/plugin-api';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { type Operation, operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { Chain } from './chain.ts';
import { engineOperation, synthesisOperation } from './operations.ts';
import { KINDS, Registry, type Settings } from './registry.ts';
import { trialOperation } from './trial.ts';

interface Config extends Settings {
  readonly resultMs: number;
  readonly utteranceMs: number;
  readonly absentAfterMs: number;
}

const FRAME_MS = 20;

export const plugin = definePlugin<{ operations: typeof operations }, Config>({
  requires: { operations },
  setup(host, services) {
    const { scope, config, log } = host;
    const registry = new Registry(scope, log, config);
    const limits = { resultMs: config.resultMs, utterance: Math.ceil(config.utteranceMs / FRAME_MS) };
    const chain = new Chain(registry, scope, limits);
    host.provide(speech, {
      register: (kind, description, engine, owner) => registry.register(kind, description, engine, owner),
      list: async (kind) => registry.list(kind),
      detectSpeech: (frames, options) => chain.detectSpeech(frames, options),
      detectWake: (frames, options) => chain.detectWake(frames, options),
      transcribe: (frames, options) => chain.transcribe(frames, options),
      unspeakable: (words, language) => chain.unspeakable(words, language),
      speak: (text, options) => chain.speak(text, options),
      onChange: (listener) => registry.onChange(listener),
    });
    for (const operation of [engineOperation(registry), synthesisOperation(chain), trialOperation(chain)])
      scope.use(`operation ${operation.name}`, services.operations.add(operation as Operation<never, unknown>));
    const began = monotonicMs();
    host.tap('health.collect', (report) => {
      tell(report, registry);
      for (const { engine, phrases } of chain.phrasesLeftOut())
        report.warn(
          'PHRASES_LEFT_OUT',
          `${phrases.map((phrase) => JSON.stringify(phrase)).join(', ')}: wake engine ${engine} has no pronunciation of it and listens for the other phrases`,
        );
      // Engines need a moment to load; one that is not there then is misspelt, or waits for something: it says for what.
      const absent = monotonicMs() - began < config.absentAfterMs ? [] : absentOf(config.order, registry);
      if (absent.length > 0)
        report.warn(
          'ENGINES_ABSENT',
          `the order of engines names ${absent.join(', ')}: not there, so others are asked`,
        );
    });
  },
});

function absentOf(order: Settings['order'], registry: Registry): readonly string[] {
  return KINDS.flatMap((kind) => {
    const there = new Set(registry.list(kind).map(({ id }) => id));
    return (order[kind] ?? []).filter((id) => !there.has(id)).map((id) => `${kind} ${id}`);
  });
}

/** A kind without any engine waits for one; a kind whose engines all fail is in error; one that fails beside others is named. */
function tell(report: HealthReport, registry: Registry): void {
  const ranked = registry.list().filter(({ rank }) => rank !== undefined);
  const troubled = ranked.filter(({ problem }) => problem !== undefined);
  const lost = KINDS.filter(
    (kind) => troubled.some((one) => one.kind === kind) && ranked.every((one) => one.kind !== kind || one.problem),
  );
  const problems = troubled.map(({ kind, id, problem }) => `${kind} engine ${id}: ${problem}`).join('; ');
  const missing = KINDS.filter((kind) => ranked.every((one) => one.kind !== kind));
  if (lost.length > 0) report.add('speech', { status: 'error', code: 'SPEECH_FAILED', message: problems });
  else if (missing.length > 0) {
    const message = `there is no engine of kind ${missing.join(', ')}${problems && `; ${problems}`}`;
    report.add('speech', { status: 'waiting', code: 'ENGINE_MISSING', message });
  } else report.add('speech', { status: 'okay', ...(problems && { message: problems }) });
}
