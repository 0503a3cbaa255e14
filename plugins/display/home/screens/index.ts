import { cardWords, directionOfLocale, Layout, type Scene } from '@device-core/plugin-api/scene';
import type { RingingAlarm } from '@device-core/plugin-api/services/alarms';
import type { Surroundings, TextQuestion, TextSize } from '@device-core/plugin-api/services/renderer';
import type { Timer } from '@device-core/plugin-api/services/timers';
import type { Drawing } from '../facts.ts';
import { type Strings, stringsOf } from '../strings/index.ts';
import { face } from './face.ts';
import { departureList, launcher, notificationList, timerList } from './lists.ts';
import { pairingScreen, problemScreen } from './messages.ts';
import { network, wifi } from './network.ts';
import { ringing } from './ringing.ts';
import { about, look, privacy, settings, sound } from './settings.ts';

type Screen = (drawing: Drawing, strings: Strings, layout: Layout) => Promise<Scene>;

export const SCREENS = {
  home: face,
  notifications: notificationList,
  apps: launcher,
  timers: timerList,
  settings,
  network,
  wifi,
  sound,
  look,
  privacy,
  departures: departureList,
  about,
  problem: problemScreen,
  pairing: pairingScreen,
} as const satisfies Readonly<Record<string, Screen>>;
export type ScreenName = keyof typeof SCREENS;

type Measure = (texts: readonly TextQuestion[]) => Promise<readonly TextSize[]>;

function layoutOf({ theme, textScale, locale }: Surroundings, measure: Measure): Layout {
  return new Layout({ theme, textScale, measure, dir: directionOfLocale(locale), words: cardWords(locale) });
}

export function drawRinging(
  timers: readonly Timer[],
  surroundings: Surroundings,
  measure: Measure,
  alarms: readonly RingingAlarm[] = [],
): Promise<Scene> {
  const strings = stringsOf(surroundings.locale);
  return ringing({ timers, alarms }, surroundings, strings, layoutOf(surroundings, measure));
}

export function drawScreen(name: ScreenName, drawing: Drawing, measure: Measure): Promise<Scene> {
  const { surroundings } = drawing;
  return SCREENS[name](drawing, stringsOf(surroundings.locale), layoutOf(surroundings, measure));
}
