import { join } from 'node:path';
import { definePlugin, reasonOf } from '@device-core/plugin-api';
import { alarms as alarmsRef, type MissedAlarm } from '@device-core/plugin-api/services/alarms';
import { type Audio, audio } from '@device-core/plugin-api/services/audio';
import { device } from '@device-core/plugin-api/services/device';
import { type Display, display, notifications } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { type Voice, voice } from '@device-core/plugin-api/services/voice';
import { Alarms } from './alarms.ts';
import { missedText } from './missed.ts';
import { alarmOperations } from './operations.ts';

interface Settings {
  readonly maxAlarms: number;
  readonly ringSeconds: number;
  readonly lateSeconds: number;
  readonly snoozeSeconds: number;
  readonly gain: number;
  readonly sayReminders: boolean;
}

/** The first sounds are softer: they wake no one with a fright. */
const SOFT_TIMES = 4;
/** The panel says the latest of those that were missed at once. */
const MOST_TOASTS = 3;
/** A reminder is read aloud so often while it rings. */
const SAID_TIMES = 2;

export const plugin = definePlugin<{ device: typeof device; operations: typeof operations }, Settings>({
  requires: { device, operations },
  async setup(host, services) {
    const { scope, log, config } = host;
    let speaker: Audio | undefined;
    let speech: Voice | undefined;
    let zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    let book: Alarms | undefined;
    let panel: Display | undefined;
    let notifies = false;
    let untold: MissedAlarm[] = [];
    // Before the file is opened: the zone may have changed since the Core started, and what is due is judged by it.
    host.bus.subscribe('system.time', ({ payload }) => {
      const told = (payload as { readonly zone?: unknown }).zone;
      if (typeof told === 'string') zone = told;
      book?.moveTo(zone);
    });
    const { paths } = await services.device.info();
    const say = async (texts: readonly string[], signal: AbortSignal): Promise<void> => {
      for (const text of texts)
        await speech?.say(text, { signal, owner: 'plugin.alarms' }).catch((error: unknown) => {
          if (!signal.aborted) log.debug({ reason: reasonOf(error) }, 'cannot read a reminder aloud');
        });
    };
    // At a start they are missed before there is a panel.
    const toast = async (): Promise<void> => {
      if (!panel || !notifies) return;
      try {
        const { locale } = await panel.surroundings();
        for (const one of untold.splice(0).reverse())
          host.bus.publish('ui.toast', { text: missedText(one, locale, zone), level: 'warn' });
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'cannot show that an alarm was missed');
      }
    };
    const alarms = await Alarms.open({
      file: join(paths.var, 'alarms', 'alarms.json'),
      scope,
      log,
      zone,
      most: config.maxAlarms,
      ringMs: config.ringSeconds * 1_000,
      lateMs: config.lateSeconds * 1_000,
      snoozeSeconds: config.snoozeSeconds,
      async sound(signal, time, texts) {
        const gain = config.gain * Math.min(1, (time + 1) / SOFT_TIMES);
        await speaker?.feedback('timer', { owner: 'plugin.alarms', priority: 'alarm', gain, signal });
        if (time < SAID_TIMES && config.sayReminders) await say(texts, signal);
      },
      missed: (one) => {
        untold = [one, ...untold].slice(0, MOST_TOASTS);
        void toast();
      },
      told: (state, { id, kind }) => host.bus.publish('plugin.alarms.alarm', { state, id, kind }),
    });
    book = alarms;
    alarms.moveTo(zone);
    host.when(display, (service, scope) => {
      panel = service;
      scope.defer('panel', () => {
        panel = undefined;
      });
      return toast();
    });
    host.when(notifications, (_, scope) => {
      notifies = true;
      scope.defer('notifications', () => {
        notifies = false;
      });
      return toast();
    });
    host.when(audio, (service, scope) => {
      speaker = service;
      scope.defer('speaker', () => {
        speaker = undefined;
      });
    });
    host.when(voice, (service, scope) => {
      speech = service;
      scope.defer('voice', () => {
        speech = undefined;
      });
    });
    host.tap('health.collect', (report) => {
      report.add('alarms', { status: 'okay', message: `${alarms.size} alarms` });
      alarms.tell(report);
    });
    host.provide(alarmsRef, {
      state: () => alarms.state(),
      set: (request) => alarms.set(request),
      change: (id, change) => alarms.change(id, change),
      cancel: (id) => alarms.cancel(id),
      snooze: (seconds) => alarms.snooze(seconds),
      silence: () => alarms.silence(),
      onChange: (listener) => alarms.onChange(listener),
    });
    for (const operation of alarmOperations(alarms))
      scope.use(`operation ${operation.name}`, services.operations.add(operation));
  },
});
