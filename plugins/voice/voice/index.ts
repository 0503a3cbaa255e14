import { join } from 'node:path';
import { definePlugin, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { ledger as ledgerService } from '@device-core/plugin-api/inside/services/ledger';
import { alarms } from '@device-core/plugin-api/services/alarms';
import { audio, type FeedbackSound } from '@device-core/plugin-api/services/audio';
import { config as configService } from '@device-core/plugin-api/services/config';
import { device } from '@device-core/plugin-api/services/device';
import { intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { timers } from '@device-core/plugin-api/services/timers';
import { voice } from '@device-core/plugin-api/services/voice';

import { metrics } from '@device-core/plugin-api/telemetry';

import { Tracer, traces as tracesService } from '@device-core/plugin-api/tracing';

import { Attention, type AttentionSettings } from './attention.ts';
import { Budget, type BudgetLimits } from './budget.ts';
import { Conductor } from './conductor.ts';
import { Floor } from './floor.ts';
import { Ledger } from './ledger.ts';
import type { Limits } from './machine.ts';
import { Measures } from './measures.ts';
import { voiceOperations } from './operations.ts';
import { Questions } from './question.ts';
import { Reports } from './reports.ts';
import { Router, type RouterSettings } from './router.ts';
import { Senses } from './senses.ts';
import { Speaker } from './speaker.ts';
import { talkStream } from './talk.ts';
import { type Prompts, Thinker } from './thinker.ts';
import { Traces } from './traces.ts';

interface Settings extends Omit<AttentionSettings, 'retryMs' | 'local' | 'engine'> {
  readonly voice?: string;
  readonly sounds: readonly FeedbackSound[];
  readonly sayQueue: number;
  readonly limits: Limits & { readonly callMs: number; readonly sayWaitMs: number };
  readonly retryMs: number;
  readonly router: Omit<RouterSettings, 'language' | 'mostSeconds'> & { readonly budget: BudgetLimits };
  readonly prompts: Prompts;
  readonly turns: number;
  readonly ledger: number;
}

/** The user's own word, in the device's configuration. */
const LOCAL_ONLY = 'voice.localOnly';
/** Margin of an operation beyond its wait. */
const GRACE_MS = 5_000;

interface Ringing {
  readonly ringing: readonly unknown[];
}

/** A service that rings. */
interface Bell {
  state(): Promise<Ringing>;
  silence(): Promise<unknown>;
  onChange(listener: (state: Ringing) => void): Disposable;
}

export const plugin = definePlugin<{ device: typeof device; operations: typeof operations }, Settings>({
  requires: { device, operations },
  async setup(host, services) {
    const { scope, log, config } = host;
    const { language, limits, prompts } = config;
    const { paths } = await services.device.info();
    const ledger = new Ledger(config.ledger);
    const budget = await Budget.open(join(paths.var, 'voice', 'budget.json'), config.router.budget, scope, log);

    const tracer = new Tracer(host.clock);
    host.when(tracesService, (service, part) => tracer.use(service, part));
    const measures = new Measures();
    const traces = new Traces(config.turns, tracer, measures);
    host.when(metrics, async (service, part) => void part.use('metrics', await service.register(measures.meter)));
    const local = config.router.local || config.router.localOnly;
    const senses = new Senses();
    const floor = new Floor(limits);
    const reports = new Reports((topic, payload) => host.bus.publish(topic, payload), floor, senses);
    const speaker = new Speaker({
      scope,
      log,
      settings: { ...config, voice: config.voice, sayWaitMs: limits.sayWaitMs },
      audio: () => senses.audio(),
      speech: () => senses.speech(),
      events: {
        started(id, at, asked) {
          traces.span(id, 'tts', asked, at);
          traces.answered(id, at);
          reports.speechStarted(id);
          floor.input({ kind: 'speaking', id });
        },
        ended: (id) => reports.speechEnded(id),
        spoken: (id) => floor.input({ kind: 'spoken', id }),
        unspoken: (id, error) => floor.input({ kind: 'unspoken', id, code: error.code, error }),
      },
    });
    let network: string | undefined;
    let userLocalOnly = false;
    const router = new Router({
      scope,
      settings: { ...config.router, local, language, mostSeconds: config.mostCommandMs / 1000 },
      ledger,
      budget,
      speech: () => senses.speech(),
      intents: () => senses.intents(),
      grammar: () => senses.grammar,
      localOnly: () => userLocalOnly,
      online: () => network === undefined || network === 'online',
      prefix: config.wake.map(({ phrase }) => phrase),
      partial: (turn, transcript) => reports.partial(turn, transcript, 'cloud'),
      trace: (turn) => traces.handOn(turn, 'stt'),
    });
    const settings = { ...config, local, engine: config.router.stages?.[0]?.engine };
    const attention = new Attention({ scope, log, settings, floor, senses, speaker, router, reports });
    const questions = new Questions({
      scope,
      log,
      language,
      which: prompts.ambiguous,
      intents: () => senses.intents(),
    });
    scope.defer('an open question', () => questions.close());
    const thinker = new Thinker({
      scope,
      traces,
      router,
      intents: () => senses.intents(),
      questions,
      language,
      callMs: limits.callMs,
      prompts,
      final: (turn, heard, latencyMs) => reports.final(turn, heard, latencyMs),
    });
    const { late } = prompts;
    const conductor = new Conductor({ scope, log, floor, traces, reports, attention, speaker, thinker, late });
    scope.defer('turns', () => conductor.close());

    host.bus.subscribe('system.network', ({ payload }) => {
      network = String((payload as { readonly state?: unknown }).state);
    });
    host.when(configService, async (settings, part) => {
      const read = async () => {
        const entries = await settings.list({}, LOCAL_ONLY);
        userLocalOnly = entries.some(({ key, value }) => key === LOCAL_ONLY && value === true);
      };
      const changed = ({ key }: { readonly key: string }) => {
        if (!key.startsWith('voice')) return;
        // Without an answer about the user's wish no data is sent.
        userLocalOnly = true;
        read().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, `cannot read ${LOCAL_ONLY}`));
      };
      part.use('changes of the configuration', settings.watch({}, changed));
      await read();
    });
    host.when(ledgerService, (service, part) => ledger.use(service, part));
    host.when(audio, (service, part) => attention.useAudio(service, part));
    host.when(speech, (service, part) => attention.useSpeech(service, part));
    host.when(intents, (service, part) => attention.useIntents(service, part));
    const bell = async (what: string, service: Bell, part: Scope) => {
      const heed = ({ ringing }: Ringing) =>
        attention.ringing(what, ringing.length > 0 ? () => service.silence() : undefined);
      part.use(`ringing ${what}`, service.onChange(heed));
      part.defer(`silence of ${what}`, () => attention.ringing(what, undefined));
      heed(await service.state());
    };
    host.when(alarms, (service, part) => bell('alarms', service, part));
    host.when(timers, (service, part) => bell('timers', service, part));

    host.provide(voice, {
      state: async () => conductor.state(),
      say: (text, { signal, ...options } = {}) => conductor.say({ text, ...options }, signal),
      listen: (options = {}) => conductor.turn('button', undefined, options.signal),
      ask: (text, options = {}) => conductor.turn('ask', text, options.signal, options.trace),
      mute: (muted) => attention.mute(muted),
      stop: async (turn) => floor.input({ kind: 'stop', ...maybe({ id: turn }) }),
      turns: async (limit = config.turns) => traces.newest(limit),
      ledger: (limit = config.ledger) => ledger.newest(limit),
    });
    const rows = voiceOperations({
      conductor,
      traces,
      router,
      ledger,
      used: () => budget.used(Date.now()),
      turnMs: limits.turnMs + GRACE_MS,
      sayMs: limits.sayWaitMs + limits.turnMs + GRACE_MS,
    });
    for (const row of rows) scope.use(`operation ${row.name}`, services.operations.add(row));
    scope.use('stream voice.talk', services.operations.addStream(talkStream(conductor, scope)));

    host.tap('health.collect', (report) => {
      const { machine } = conductor;
      const { deaf, wakeProblem } = attention;
      const [unsent] = router.unsent;
      budget.tell(report);
      if (unsent) report.warn('VOICE_UNSENT', `a turn could not be sent to the cloud: ${unsent.reason}`);
      if (machine.state === 'error')
        return report.add('voice', {
          status: 'error',
          code: 'SPEECH_FAILED',
          message: conductor.reason ?? 'a turn failed',
        });
      if (machine.muted) return report.add('voice', { status: 'okay', message: 'the microphone is muted' });
      if (deaf !== undefined)
        return report.add('voice', { status: 'waiting', code: 'AUDIO_UNAVAILABLE', message: `cannot listen: ${deaf}` });
      if (wakeProblem !== undefined)
        return report.add('voice', {
          status: 'waiting',
          code: 'ENGINE_MISSING',
          message: `cannot be called: ${wakeProblem}`,
        });
      report.add('voice', { status: 'okay' });
    });
  },
});
