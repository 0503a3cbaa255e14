/** Choices of the person on the device, from the configuration `display.<name>`. Pure. */
import type { ConfigEntry } from '@device-core/plugin-api/services/config';

export const PREFIX = 'display';
export const TEXT_SCALES = [1, 1.25, 1.5, 2] as const;
export const THEME_CHOICES = ['auto', 'day', 'night', 'contrast'] as const;

export interface DeviceSettings {
  readonly textScale?: (typeof TEXT_SCALES)[number];
  readonly theme?: (typeof THEME_CHOICES)[number];
  readonly reducedMotion?: boolean;
  /** 0..1 */
  readonly brightness?: number;
  readonly locale?: string;
  readonly timeZone?: string;
}

interface Rule {
  readonly fits: (value: unknown) => boolean;
  readonly wanted: string;
}

const RULES: Readonly<Record<keyof DeviceSettings, Rule>> = {
  textScale: { fits: (value) => TEXT_SCALES.some((one) => one === value), wanted: TEXT_SCALES.join(', ') },
  theme: { fits: (value) => THEME_CHOICES.some((one) => one === value), wanted: THEME_CHOICES.join(', ') },
  reducedMotion: { fits: (value) => typeof value === 'boolean', wanted: 'true, false' },
  brightness: { fits: (value) => typeof value === 'number' && value >= 0 && value <= 1, wanted: '0 to 1' },
  locale: { fits: isLocale, wanted: 'a language tag, as de-DE' },
  timeZone: { fits: isTimeZone, wanted: 'a time zone, as Europe/Berlin' },
};

export interface SettingsFound {
  readonly settings: DeviceSettings;
  /** Values that mean nothing; the SKU's own hold in their place. */
  readonly problems: readonly string[];
}

export function settingsOf(entries: readonly Pick<ConfigEntry, 'key' | 'value'>[]): SettingsFound {
  const settings: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const { key, value } of entries) {
    const name = key.slice(PREFIX.length + 1);
    const rule = Object.hasOwn(RULES, name) ? RULES[name as keyof DeviceSettings] : undefined;
    // Other plugins may have settings below the same word.
    if (!rule) continue;
    if (rule.fits(value)) settings[name] = value;
    else problems.push(`${key} is ${JSON.stringify(value)?.slice(0, 40)}, not one of: ${rule.wanted}`);
  }
  return { settings, problems };
}

function isLocale(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 64) return false;
  try {
    return Intl.getCanonicalLocales(value).length === 1;
  } catch {
    return false; // it says so by throwing
  }
}

function isTimeZone(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > 64) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: value });
    return true;
  } catch {
    return false; // it says so by throwing
  }
}
