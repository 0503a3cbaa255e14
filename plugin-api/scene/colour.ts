/** Colours as numbers: of a theme's tokens, and how well one is read on another. */

import { nearest } from '../kits/nearest.ts';
import { type Field, FieldProblem } from './fields.ts';
import { COLOUR_TOKENS, type ColourToken, type Theme } from './theme.ts';

const HEX = /^#(?:[0-9a-f]{6}|[0-9a-f]{8})$/i;
const isToken = (name: string): name is ColourToken => COLOUR_TOKENS.some((token) => token === name);

export const colour: Field = {
  schema: { type: 'string', maxLength: 64, pattern: '^(#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})|@[a-z-]+)$' },
  check(value, at) {
    if (typeof value === 'string' && (HEX.test(value) || (value.startsWith('@') && isToken(value.slice(1))))) return;
    const close =
      typeof value === 'string' && value.startsWith('@') ? nearest(value.slice(1), COLOUR_TOKENS) : undefined;
    throw new FieldProblem(
      at,
      `it must be #rrggbb, #rrggbbaa or @token${close === undefined ? '' : `; did you mean @${close}?`}`,
    );
  },
};

/** `#rrggbb[aa]` of a colour that was checked. */
export function resolveColour(theme: Theme, value: string): string {
  return value.startsWith('@') ? theme.colours[value.slice(1) as ColourToken] : value;
}

/** Red, green, blue 0..255 and opacity 0..1 of `#rrggbb[aa]`. */
export function channels(hex: string): readonly [red: number, green: number, blue: number, alpha: number] {
  const value = Number.parseInt(hex.slice(1).padEnd(8, 'f'), 16);
  return [(value >>> 24) & 255, (value >>> 16) & 255, (value >>> 8) & 255, (value & 255) / 255];
}

/** Contrast of WCAG 2, 1..21, of two `#rrggbb`; their opacity is not looked at. */
export function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = channels(hex)
    .slice(0, 3)
    .map((channel) => channel / 255)
    .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}
