/** Intents of the device itself, as far as the services for them are there. */

import { CoreError, type Scope } from '@device-core/plugin-api';
import type { Audio } from '@device-core/plugin-api/services/audio';
import type { IntentAnswer, IntentRun } from '@device-core/plugin-api/services/intents';
import type { Catalogue } from './catalogue.ts';
import type { DeviceIntent, DeviceTexts } from './device-texts.ts';
import { LANGUAGES } from './texts.ts';
import { LONGEST_SECONDS, type Timers } from './timers.ts';

type Work = (run: IntentRun, texts: DeviceTexts) => Promise<IntentAnswer>;

const OWNER = 'plugin.intent';
const STEP = 0.1;
const MOST_EXAMPLES = 5;

/** Adds intents in every language that there is a table for, until the scope ends. */
function addAll(catalogue: Catalogue, scope: Scope, works: Partial<Readonly<Record<DeviceIntent, Work>>>): void {
  for (const texts of LANGUAGES) {
    const { language, rules, slots } = texts;
    for (const [name, work] of Object.entries(works)) {
      const { title, sentences } = texts.intents[name as DeviceIntent];
      // English has the plain id; a table of another language adds its own.
      const id = language === 'en' ? `device.${name}` : `device.${name}.${language}`;
      const definition = { id, title, language, sentences, rules, slots };
      scope.use(
        `intent ${id}`,
        catalogue.add(definition, (run) => work(run, texts), OWNER),
      );
    }
  }
}

export function addGeneral(catalogue: Catalogue, scope: Scope, timers: Timers): void {
  addAll(catalogue, scope, {
    // The turn ends with it, and what is being said; nothing more is to be done but for an alarm.
    stop: async () => ({ result: { silenced: timers.silence() } }),
    time: async (_, { say }) => {
      const now = new Date();
      return { say: say.time(now.getHours(), now.getMinutes()) };
    },
    help: async (_, { say, language }) => {
      const list = await catalogue.list({ language });
      // Apps first: what the device can do by itself is soon known.
      const apps = list.filter(({ owner }) => owner !== OWNER);
      const own = list.filter(({ id, owner }) => owner === OWNER && id !== 'device.help');
      const examples = [...apps, ...own].slice(0, MOST_EXAMPLES).map(({ example }) => example);
      return { say: say.help(examples), result: { examples } };
    },
    'timer-set': async ({ slots }, { say }) => {
      const part = (name: string, seconds: number) => Number(slots[name] ?? 0) * seconds;
      const seconds = part('hours', 3_600) + part('minutes', 60) + part('seconds', 1) + part('length', 1);
      if (seconds > LONGEST_SECONDS) return { say: say.timerTooLong(LONGEST_SECONDS) };
      try {
        const { at, kept } = await timers.set(seconds);
        return { say: say.timerSet(seconds), result: { at, seconds, ...(kept ? {} : { kept }) } };
      } catch (error) {
        if (!(error instanceof CoreError) || error.code !== 'QUEUE_FULL') throw error;
        return { say: say.timersFull(timers.list.length) };
      }
    },
    'timer-cancel': async (_, { say }) => {
      const silenced = timers.silence();
      const cancelled = await timers.cancelAll();
      // "Stop the timer" while it rings is answered by silence.
      return silenced && cancelled === 0
        ? { result: { silenced } }
        : { say: say.timersCancelled(cancelled), result: { cancelled } };
    },
    'timer-left': async (_, { say }) => {
      const { left } = timers;
      return { say: say.timersLeft(left), result: { seconds: left } };
    },
  });
}

export function addAudio(catalogue: Catalogue, scope: Scope, audio: Audio): void {
  const set = async (volume: number): Promise<IntentAnswer> => {
    const rounded = Math.round(Math.min(1, Math.max(0, volume)) * 100) / 100;
    await audio.setVolume(rounded);
    return { result: { volume: rounded } };
  };
  const by = async (step: number) => set((await audio.state()).volume + step);
  addAll(catalogue, scope, {
    'volume-set': ({ slots }) => set(Number(slots.percent) / 100),
    'volume-up': () => by(STEP),
    'volume-down': () => by(-STEP),
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
