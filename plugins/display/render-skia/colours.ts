import { resolveColour, type Theme } from '@device-core/plugin-api/scene';

export const opaque = (colour: string, theme: Theme): boolean => {
  const hex = resolveColour(theme, colour);
  return hex.length === 7 || hex.slice(7).toLowerCase() === 'ff';
};
