import type { Surroundings } from '@device-core/plugin-api';
import { THEMES } from '@device-core/plugin-api/scene';

export interface DisplayConfig {
  readonly renderers: readonly string[];
  readonly theme: 'night' | 'day' | 'contrast';
  readonly textScale: 1 | 1.25 | 1.5 | 2;
  readonly reducedMotion: boolean;
  readonly fps: number;
  readonly locale?: string;
  readonly timeZone?: string;
}

export function surroundingsOf({ theme, textScale, reducedMotion, fps, ...told }: DisplayConfig): Surroundings {
  const system = new Intl.DateTimeFormat().resolvedOptions();
  return {
    theme: THEMES.find(({ id }) => id === theme)!,
    ...{ textScale, reducedMotion, plain: false, fps, light: 1 },
    locale: told.locale ?? system.locale,
    timeZone: told.timeZone ?? system.timeZone,
  };
}
