/** How bright the panel is, pure. */
import type { PanelPower } from '@device-core/plugin-api/services/display';

export const LEVELS = {
  /** Lowest readable level: below it a person could not find the setting again. */
  least: 0.05,
  /** Share of the level while on. */
  dimmed: 0.25,
  leastDimmed: 0.02,
  /** Lux of a dark room, where it has `inTheDark` of the level that was set, and of a bright one, where it has all of it. */
  dark: 5,
  bright: 300,
  inTheDark: 0.35,
} as const;

export interface LightState {
  readonly power: PanelPower;
  /** Level 0..1 as the person set it. */
  readonly set: number;
  /** Lux, where a sensor tells. */
  readonly lux?: number | undefined;
  /** At most, in the hours of the night. */
  readonly night?: number | undefined;
}

/** 0..1. The eye sees ratios: light is judged by its logarithm. */
export function levelOf({ power, set, lux, night }: LightState): number {
  if (power === 'off') return 0;
  const { least, dimmed, leastDimmed, dark, bright, inTheDark } = LEVELS;
  const share =
    lux === undefined
      ? 1
      : clamp((Math.log(Math.max(lux, 0.01)) - Math.log(dark)) / (Math.log(bright) - Math.log(dark)));
  const lit = Math.max(least, Math.min(set * (inTheDark + (1 - inTheDark) * share), night ?? 1));
  return power === 'on' ? lit : Math.max(leastDimmed, lit * dimmed);
}

/** The way from one level to another: what it is after `share` of the time. */
export function between(from: number, to: number, share: number): number {
  const eased = 1 - (1 - clamp(share)) ** 3;
  return share >= 1 ? to : Math.round((from + (to - from) * eased) * 1_000) / 1_000;
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value));
}
