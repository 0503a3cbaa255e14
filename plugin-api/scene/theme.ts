/** One grid, one type scale, one set of colours: what panel, page and cards share. An OEM's theme replaces the values, never the names. */
import type { TextRole } from './scene.ts';

export const COLOUR_TOKENS = [
  /** Behind everything. */
  'background',
  /** Behind an app's scene. */
  'surface',
  /** A card or a row on it. */
  'raised',
  /** Something raised that is pressed, or a track. */
  'sunken',
  /** Hairlines. */
  'line',
  /** Around what is raised: seen in themes whose grounds are hard to tell apart. */
  'outline',
  'text',
  /** Less important text, still read with ease. */
  'text-soft',
  'accent',
  /** Text on the accent. */
  'on-accent',
  /** Quiet ground of the accent, for chips and selected rows. */
  'accent-soft',
  'info',
  'success',
  'warn',
  'error',
  /** Text on info, success, warn, error. */
  'on-level',
  /** Capture: the microphone is heard. Nothing else has this colour. */
  'capture',
  'shadow',
  /** Over what lies below a prompt. */
  'scrim',
  /** Colours of the character's body, face and glow. */
  'character',
  'character-face',
  'character-glow',
] as const;
export type ColourToken = (typeof COLOUR_TOKENS)[number];

export interface TypeStyle {
  /** Units. */
  readonly size: number;
  readonly line: number;
  readonly weight: 400 | 700;
  /** Units between letters, most often negative for large sizes. */
  readonly tracking?: number;
}

export interface Theme {
  readonly id: string;
  readonly colours: Readonly<Record<ColourToken, string>>;
  readonly type: Readonly<Record<TextRole, TypeStyle>>;
  /** Family of all text that names none. */
  readonly font: string;
}

/** Everything stands on multiples of 8; a page has margins of 48 and a touch target is 88 high. */
export const GRID = { unit: 8, margin: 48, gap: 16, target: 88, radius: 28, radiusSmall: 16 } as const;

export const TYPE: Readonly<Record<TextRole, TypeStyle>> = {
  hero: { size: 184, line: 192, weight: 700, tracking: -7 },
  display: { size: 96, line: 104, weight: 700, tracking: -3 },
  title: { size: 52, line: 60, weight: 700, tracking: -1.2 },
  heading: { size: 38, line: 46, weight: 700, tracking: -0.6 },
  body: { size: 32, line: 44, weight: 400, tracking: -0.3 },
  label: { size: 30, line: 38, weight: 700, tracking: -0.2 },
  caption: { size: 26, line: 34, weight: 400 },
};

export const NIGHT: Theme = {
  id: 'night',
  font: 'Inter',
  type: TYPE,
  colours: {
    background: '#0b0d12',
    surface: '#11141b',
    raised: '#1c212c',
    sunken: '#2a3140',
    line: '#323a4a',
    outline: '#00000000',
    text: '#f4f6fb',
    'text-soft': '#b3bccd',
    accent: '#8ab4ff',
    'on-accent': '#0a1830',
    'accent-soft': '#1d2c47',
    info: '#8ab4ff',
    success: '#6fdba0',
    warn: '#ffc76b',
    error: '#ff8f8a',
    'on-level': '#10131a',
    capture: '#ff9f43',
    shadow: '#00000099',
    scrim: '#05070bcc',
    character: '#8ab4ff',
    'character-face': '#0a1830',
    'character-glow': '#8ab4ff40',
  },
};

export const DAY: Theme = {
  id: 'day',
  font: 'Inter',
  type: TYPE,
  colours: {
    background: '#eef1f6',
    surface: '#f7f8fb',
    raised: '#ffffff',
    sunken: '#dfe5ee',
    line: '#cdd5e1',
    outline: '#00000000',
    text: '#151a24',
    'text-soft': '#4b5568',
    accent: '#1f5fd6',
    'on-accent': '#ffffff',
    'accent-soft': '#dce8ff',
    info: '#1f5fd6',
    success: '#0f7a45',
    warn: '#8f5600',
    error: '#b3261e',
    'on-level': '#ffffff',
    capture: '#ab4600',
    shadow: '#1b2a4433',
    scrim: '#1b2230b3',
    character: '#2f6fe4',
    'character-face': '#ffffff',
    'character-glow': '#2f6fe433',
  },
};

export const CONTRAST: Theme = {
  id: 'contrast',
  font: 'Inter',
  type: TYPE,
  colours: {
    background: '#000000',
    surface: '#000000',
    raised: '#141414',
    sunken: '#2b2b2b',
    line: '#ffffff',
    outline: '#ffffff',
    text: '#ffffff',
    'text-soft': '#e6e6e6',
    accent: '#ffe14d',
    'on-accent': '#000000',
    'accent-soft': '#33300f',
    info: '#7fd4ff',
    success: '#7dffb0',
    warn: '#ffe14d',
    error: '#ffa8a3',
    'on-level': '#000000',
    capture: '#ff9f43',
    shadow: '#000000ff',
    scrim: '#000000e6',
    character: '#ffe14d',
    'character-face': '#000000',
    'character-glow': '#ffe14d40',
  },
};

export const THEMES: readonly Theme[] = [NIGHT, DAY, CONTRAST];

/** Pairs of ground and text that may meet; each has a contrast of 4.5 at least in each theme. */
export const TEXT_PAIRS: readonly (readonly [ground: ColourToken, text: ColourToken])[] = [
  ...(['background', 'surface', 'raised', 'sunken', 'accent-soft'] as const).flatMap((ground) =>
    (['text', 'text-soft'] as const).map((text) => [ground, text] as const),
  ),
  ...(['background', 'surface', 'raised'] as const).flatMap((ground) =>
    (['accent', 'info', 'success', 'warn', 'error', 'capture'] as const).map((text) => [ground, text] as const),
  ),
  ['accent', 'on-accent'],
  ...(['info', 'success', 'warn', 'error'] as const).map((ground) => [ground, 'on-level'] as const),
];
