/** The tokens of the panel as custom properties of CSS: one visual language, one table of values. */
import { CONTRAST, DAY, GRID, NIGHT, type Theme } from '@device-core/plugin-api/scene';

const properties = ({ colours }: Theme): string =>
  Object.entries(colours)
    .map(([token, value]) => `--${token}:${value}`)
    .join(';');

/** Dark and light as the system of the reader says, or as `data-theme` of the root says; more contrast where it is asked for. */
export function themeSheet(): string {
  const [night, day, contrast] = [NIGHT, DAY, CONTRAST].map(properties);
  return [
    `:root{color-scheme:dark;--radius:${GRID.radius / 2}px;--radius-small:${GRID.radiusSmall / 2}px;${night}}`,
    `@media (prefers-color-scheme:light){:root{color-scheme:light;${day}}}`,
    `:root[data-theme=night]{color-scheme:dark;${night}}`,
    `:root[data-theme=day]{color-scheme:light;${day}}`,
    `@media (prefers-contrast:more){:root:root{color-scheme:dark;${contrast}}}`,
    `:root[data-theme=contrast]{color-scheme:dark;${contrast}}`,
  ].join('\n');
}
