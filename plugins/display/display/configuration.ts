import { NIGHT, THEMES } from '@device-core/plugin-api/scene';
import type { Surroundings } from '@device-core/plugin-api/services/renderer';
import type { KeySetting } from './input/keys.ts';
import type { NightHours } from './settings/hours.ts';
import type { ThemeName, ThemeValues } from './settings/themes.ts';

export interface DisplayConfig {
  readonly renderers: readonly string[];
  readonly theme: ThemeName | 'auto';
  readonly themes: Readonly<Partial<Record<ThemeName, ThemeValues>>>;
  readonly textScale: 1 | 1.25 | 1.5 | 2;
  readonly reducedMotion: boolean;
  readonly fps: number;
  readonly locale?: string;
  readonly timeZone?: string;
  readonly brightness: number;
  readonly night: NightHours & { readonly brightness: number };
  readonly dimMs: number;
  readonly offMs: number;
  readonly ambient?: { readonly sensor: string; readonly quantity: string; readonly everyMs: number };
  readonly keys: Readonly<Record<string, KeySetting>>;
  readonly trustedInputs: readonly string[];
  readonly autoShow: readonly string[];
  readonly idleMs: number;
  readonly openMs: number;
  readonly quota: {
    readonly patchesPerSecond: number;
    readonly patchBurst: number;
    readonly paintMs: number;
    readonly imageBytes: number;
  };
}

export function surroundingsOf({ theme, textScale, reducedMotion, fps, ...told }: DisplayConfig): Surroundings {
  const system = new Intl.DateTimeFormat().resolvedOptions();
  return {
    theme: THEMES.find(({ id }) => id === theme) ?? NIGHT,
    textScale,
    reducedMotion,
    plain: false,
    fps,
    light: 1,
    locale: told.locale ?? system.locale,
    timeZone: told.timeZone ?? system.timeZone,
  };
}
