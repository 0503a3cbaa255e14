/** Intents that every device has, and those of its sound. */
import { CoreError, type Scope } from '@device-core/plugin-api';
import type { Alarms } from '@device-core/plugin-api/services/alarms';
import type { Audio } from '@device-core/plugin-api/services/audio';
import type { IntentAnswer, IntentRun } from '@device-core/plugin-api/services/intents';
import { cancelAlarms } from './alarm-intents.ts';
import { type Catalogue, DEVICE } from './catalogue.ts';
import type { DeviceIntents } from './device-intents.ts';
import type { DeviceTexts } from './device-texts.ts';
import { secondsOf } from './said-length.ts';
import { LONGEST_SECONDS, type Timers } from './timers.ts';

const STEP = 0.1;
const MOST_EXAMPLES = 5;

/** Timers and alarms that may ring; the alarms only where their plugin is there. */
export interface Ringing {
  readonly timers: Timers;
  alarms?: Alarms | undefined;
}

/** Ends every alarm that sounds. False where there was none. */
async function silence({ timers, alarms }: Ringing): Promise<boolean> {
  const silenced = timers.silence();
  return ((await alarms?.silence()) ?? 0) > 0 || silenced;
}

export function addGeneral(device: DeviceIntents, scope: Scope, ringing: Ringing, catalogue: Catalogue): void {
  const { timers } = ringing;
  const cancelTimers = async (say: DeviceTexts['say'], silenced: boolean): Promise<IntentAnswer> => {
    const cancelled = await timers.cancelAll();
    // "Stop the timer" while it rings is answered by silence.
    return silenced && cancelled === 0
      ? { result: { silenced } }
      : { say: say.timersCancelled(cancelled), result: { cancelled } };
  };
  device.add(scope, {
    // The turn ends with it, and what is being said; nothing more is to be done but for an alarm.
    stop: async () => ({ result: { silenced: await silence(ringing) } }),
    // An alarm may be a timer: "set an alarm for ten minutes".
    'alarm-cancel': async ({ slots }, texts) => {
      const silenced = await silence(ringing);
      if (silenced && slots.all === undefined) return { result: { silenced } };
      const { alarms } = ringing;
      return (
        (alarms && (await cancelAlarms(alarms, slots, texts, scope.clock.now()))) ??
        (slots.kind === 'alarm' && timers.list.length > 0
          ? await cancelTimers(texts.say, false)
          : { say: texts.say.alarms.cancelled(0), result: { cancelled: 0 } })
      );
    },
    time: async (_, { say }) => {
      const now = new Date();
      return { say: say.time(now.getHours(), now.getMinutes()) };
    },
    help: async (_, { say, language }) => {
      const list = await catalogue.list({ language });
      // Apps first: what the device can do by itself is soon known.
      const apps = list.filter(({ owner }) => owner !== DEVICE);
      const own = list.filter(({ id, owner }) => owner === DEVICE && !id.startsWith('device.help'));
      const examples = [...apps, ...own].slice(0, MOST_EXAMPLES).map(({ example }) => example);
      return { say: say.help(examples), result: { examples } };
    },
    'timer-set': async ({ slots }, { say }) => {
      const seconds = secondsOf(slots);
      if (seconds > LONGEST_SECONDS) return { say: say.timerTooLong(LONGEST_SECONDS) };
      try {
        const { at, kept } = await timers.set(seconds);
        return { say: say.timerSet(seconds), result: { at, seconds, ...(kept ? {} : { kept }) } };
      } catch (error) {
        if (!(error instanceof CoreError) || error.code !== 'QUEUE_FULL') throw error;
        return { say: say.timersFull(timers.list.length) };
      }
    },
    'timer-cancel': async (_, { say }) => cancelTimers(say, timers.silence()),
    'timer-left': async (_, { say }) => {
      const { left } = timers;
      return { say: say.timersLeft(left), result: { seconds: left } };
    },
  });
}

export function addAudio(device: DeviceIntents, scope: Scope, audio: Audio): void {
  const set = async (volume: number): Promise<IntentAnswer> => {
    const rounded = Math.round(Math.min(1, Math.max(0, volume)) * 100) / 100;
    await audio.setVolume(rounded);
    return { result: { volume: rounded } };
  };
  const by = async (sign: 1 | -1, { slots }: IntentRun) => {
    const step = slots.by === undefined ? STEP : Number(slots.by) / 100;
    return set((await audio.state()).volume + sign * step);
  };
  device.add(scope, {
    'volume-set': ({ slots }) => set(Number(slots.percent) / 100),
    'volume-up': (run) => by(1, run),
    'volume-down': (run) => by(-1, run),
    'volume-tell': async (_, { say }) => {
      const { volume } = await audio.state();
      return { say: say.volume(Math.round(volume * 100)), result: { volume } };
    },
    mute: async (_, { say }) => {
      await audio.setMuted(true);
      return { say: say.muted() };
    },
  });
}
