/** The themes of a device: those of the Core, with the values of the SKU over the names. Pure. */
import { CoreError, maybe } from '@device-core/plugin-api';
import {
  COLOUR_TOKENS,
  CONTRAST,
  type ColourToken,
  contrast,
  DAY,
  NIGHT,
  TEXT_PAIRS,
  type TextRole,
  type Theme,
  type TypeStyle,
} from '@device-core/plugin-api/scene';

export type ThemeName = 'day' | 'night' | 'contrast';
export type Themes = Readonly<Record<ThemeName, Theme>>;

export interface ThemeValues {
  readonly colours?: Readonly<Record<string, string>>;
  readonly type?: Readonly<Partial<Record<TextRole, Partial<TypeStyle>>>>;
  readonly font?: string;
}

/** Least contrast of text on its ground, by WCAG 2.2, "Contrast (Minimum)". */
export const LEAST_CONTRAST = 4.5;
const OWN: Themes = { day: DAY, night: NIGHT, contrast: CONTRAST };
const COLOUR = /^#[0-9a-f]{6}([0-9a-f]{2})?$/i;
const SOLID = /^#[0-9a-f]{6}$/i;

/** Throws PARAMS_INVALID: a name that there is not, a value that is no colour, or text that cannot be read on its ground, with the pair. */
export function themesOf(values: Readonly<Partial<Record<ThemeName, ThemeValues>>>): Themes {
  const named = Object.entries(OWN).map(([name, theme]) => [name, themeOf(theme, values[name as ThemeName])]);
  return Object.fromEntries(named) as Themes;
}

function themeOf(theme: Theme, values: ThemeValues | undefined): Theme {
  if (!values) return theme;
  const where = `themes.${theme.id}`;
  for (const [token, colour] of Object.entries(values.colours ?? {})) {
    if (!COLOUR_TOKENS.includes(token as ColourToken))
      throw invalid(`${where}.colours.${token}`, `there is no such name; there are ${COLOUR_TOKENS.join(', ')}`);
    if (!COLOUR.test(colour)) throw invalid(`${where}.colours.${token}`, `${colour} is not #rrggbb or #rrggbbaa`);
  }
  const roles = Object.entries(theme.type).map(([role, style]) => [
    role,
    { ...style, ...values.type?.[role as TextRole] },
  ]);
  const made: Theme = {
    ...theme,
    ...maybe({ font: values.font }),
    colours: { ...theme.colours, ...values.colours },
    type: Object.fromEntries(roles),
  };
  for (const [ground, text] of TEXT_PAIRS) checkPair(made, ground, text, where);
  return made;
}

function checkPair({ colours }: Theme, ground: ColourToken, text: ColourToken, where: string): void {
  for (const token of [ground, text])
    if (!SOLID.test(colours[token]))
      throw invalid(`${where}.colours.${token}`, 'text or its ground lets nothing through');
  const found = contrast(colours[ground], colours[text]);
  if (found >= LEAST_CONTRAST) return;
  const share = Math.floor(found * 10) / 10;
  throw invalid(where, `${text} on ${ground} has a contrast of ${share}, less than ${LEAST_CONTRAST}`);
}

function invalid(where: string, reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where, reason });
}
