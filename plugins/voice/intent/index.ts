import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { alarms } from '@device-core/plugin-api/services/alarms';
import type { Audio } from '@device-core/plugin-api/services/audio';
import { audio } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import { functions } from '@device-core/plugin-api/services/functions';
import { intents } from '@device-core/plugin-api/services/intents';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { timers as timersRef } from '@device-core/plugin-api/services/timers';
import { addAlarms } from './alarm-intents.ts';
import { AppIntents } from './app-intents.ts';
import { Catalogue } from './catalogue.ts';
import { DeviceIntents } from './device-intents.ts';
import { addAudio, addGeneral, type Ringing } from './general-intents.ts';
import { Interpreters } from './interpreters.ts';
import { intentOperations } from './operations.ts';
import { rivalsOf } from './rivals.ts';
import { timerOperations } from './timer-operations.ts';
import { Timers } from './timers.ts';
import { UnspokenSentences } from './unspoken.ts';

interface Settings {
  readonly language: string;
  readonly maxIntents: number;
  readonly maxTimers: number;
}

export const plugin = definePlugin<{ device: typeof device; operations: typeof operations }, Settings>({
  requires: { device, operations },
  async setup(host, services) {
    const { scope, log, capabilities, config } = host;
    const { language, maxIntents, maxTimers } = config;
    const catalogue = new Catalogue(scope, log, maxIntents);
    const interpreters = new Interpreters(scope, (intent) => catalogue.rowOf(intent));
    const apps = new AppIntents(catalogue, capabilities, log, language);
    let speaker: Audio | undefined;
    const { paths } = await services.device.info();
    const timers = await Timers.open({
      file: join(paths.var, 'intent', 'timers.json'),
      scope,
      log,
      most: maxTimers,
      // Without a speaker the event is all.
      alarm: async (signal) => speaker?.feedback('timer', { owner: 'plugin.intent', priority: 'alarm', signal }),
      told: (state, timer) => host.bus.publish('plugin.intent.timer', { state, ...timer }),
    });
    const own = new DeviceIntents(catalogue, language);
    const ringing: Ringing = { timers };
    addGeneral(own, scope, ringing, catalogue);
    host.when(alarms, (service, scope) => {
      ringing.alarms = service;
      scope.defer('alarms', () => {
        ringing.alarms = undefined;
      });
      addAlarms(own, scope, service);
    });
    host.when(audio, (service, scope) => {
      speaker = service;
      scope.defer('speaker', () => {
        speaker = undefined;
      });
      addAudio(own, scope, service);
    });
    const unspoken = new UnspokenSentences(catalogue);
    host.when(speech, (service, scope) => {
      unspoken.engines = service;
      scope.defer('engines in use', () => {
        unspoken.engines = undefined;
      });
    });
    let look = (): void => undefined;
    host.when(functions, (service, scope) => {
      look = apps.follow(service, scope);
    });
    // The registry of functions does not tell when an app comes or goes, nor the kernel when a grant does.
    host.when(appSockets, (sockets, scope) => {
      scope.use(
        'session listener',
        sockets.onSession(() => look()),
      );
    });
    host.bus.subscribe('plugin.changed', () => look());
    host.tap('function.register', ({ app, entry }) => apps.check(app, entry));
    host.tap('health.collect', async (report) => {
      const { size } = catalogue;
      report.add('intent', { status: 'okay', message: `${size} intents, ${timers.list.length} timers` });
      timers.tell(report);
      const [first] = apps.leftOut;
      if (first)
        report.warn(
          'UTTERANCES_LEFT_OUT',
          `${apps.leftOut.length} functions of apps cannot be said; ${first.function} of ${first.app}: ${first.reason}`,
        );
      await unspoken.tell(report);
    });
    host.provide(intents, {
      add: (definition, run, owner) => catalogue.add(definition, run, owner),
      match: (text, options) => catalogue.match(text, options),
      rivals: (text, { language }) => rivalsOf(catalogue, text, language),
      grammar: (language) => catalogue.grammar(language),
      run: (plan, options) => catalogue.run(plan, options),
      list: (options) => catalogue.list(options),
      onChange: (listener) => catalogue.onChange(listener),
      addInterpreter: (description, interpreter) => interpreters.add(description, interpreter),
      interpreters: async () => interpreters.list(),
      interpret: (text, { language, interpreter, signal }) =>
        interpreters.interpret(text, interpreter, language, signal),
    });
    host.provide(timersRef, {
      state: async () => timers.state,
      set: (seconds) => timers.set(seconds),
      cancel: (id) => timers.cancel(id),
      silence: async () => timers.silence(),
      onChange: (listener) => timers.onChange(listener),
    });
    const offered = [
      ...intentOperations({ catalogue, apps, unspoken, capabilities, language }),
      ...timerOperations(timers),
    ];
    for (const operation of offered) scope.use(`operation ${operation.name}`, services.operations.add(operation));
  },
});
