import type { Surroundings, TextQuestion, TextSize } from '@device-core/plugin-api';
import { cardWords, directionOfLocale, Layout, type Scene } from '@device-core/plugin-api/scene';
import type { Drawing } from '../facts.ts';
import { type Strings, stringsOf } from '../strings/index.ts';
import { face } from './face.ts';
import { departureList, launcher, notificationList, timerList } from './lists.ts';
import { pairingScreen, problemScreen } from './messages.ts';
import { network, wifi } from './network.ts';
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

export function drawScreen(
  name: ScreenName,
  drawing: Drawing,
  measure: (texts: readonly TextQuestion[]) => Promise<readonly TextSize[]>,
): Promise<Scene> {
  const { theme, textScale, locale }: Surroundings = drawing.surroundings;
  const layout = new Layout({ theme, textScale, measure, dir: directionOfLocale(locale), words: cardWords(locale) });
  return SCREENS[name](drawing, stringsOf(locale), layout);
}
