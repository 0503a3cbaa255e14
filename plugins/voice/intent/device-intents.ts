/** Intents of the device itself, as far as the services for them are there. */

import { CoreError, type Scope } from '@device-core/plugin-api';
import type { Alarms } from '@device-core/plugin-api/services/alarms';
import type { Audio } from '@device-core/plugin-api/services/audio';
import type { IntentAnswer, IntentRun } from '@device-core/plugin-api/services/intents';
import { cancelAlarms } from './alarm-intents.ts';
import { type Catalogue, DEVICE } from './catalogue.ts';
import type { DeviceIntent, DeviceTexts } from './device-texts.ts';
import { secondsOf } from './said-length.ts';
import { LANGUAGES } from './texts.ts';
import { LONGEST_SECONDS, type Timers } from './timers.ts';

type Work = (run: IntentRun, texts: DeviceTexts) => Promise<IntentAnswer>;

const STEP = 0.1;
const MOST_EXAMPLES = 5;

type Works = Partial<Readonly<Record<DeviceIntent, Work>>>;

/**
 * Intents in the languages that there is a table for. That of the product is there from the start, another one from
 * the first question in it: the sentences of a language cost 20 ms of CPU.
 */
export class DeviceIntents {
  readonly #catalogue: Catalogue;
  readonly #spoken: Set<string>;
  readonly #groups = new Set<{ readonly scope: Scope; readonly works: Works }>();

  constructor(catalogue: Catalogue, language: string) {
    this.#catalogue = catalogue;
    this.#spoken = new Set([language]);
    catalogue.onNeed = (other) => this.#learn(other);
  }

  /** They are there until the scope ends. */
  add(scope: Scope, works: Works): void {
    const group = { scope, works };
    this.#groups.add(group);
    scope.defer('intents of the device', () => void this.#groups.delete(group));
    for (const texts of LANGUAGES) if (this.#spoken.has(texts.language)) this.#addTexts(texts, group);
  }

  #learn(language: string): void {
    const texts = LANGUAGES.find((one) => one.language === language);
    if (!texts || this.#spoken.has(language)) return;
    this.#spoken.add(language);
    for (const group of this.#groups) this.#addTexts(texts, group);
  }

  #addTexts(texts: DeviceTexts, { scope, works }: { readonly scope: Scope; readonly works: Works }): void {
    const { language, rules, slots } = texts;
    for (const [name, work] of Object.entries(works)) {
      const { title, sentences } = texts.intents[name as DeviceIntent];
      // English has the plain id; a table of another language adds its own.
      const id = language === 'en' ? `device.${name}` : `device.${name}.${language}`;
      const definition = { id, title, language, sentences, rules, slots };
      const add = this.#catalogue.add(definition, (run) => work(run, texts), DEVICE);
      scope.use(`intent ${id}`, add);
    }
  }
}

/** What may ring; the alarms only where their plugin is there. */
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
