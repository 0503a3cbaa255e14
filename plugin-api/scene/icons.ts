/**
 * Signs of the device's own screens: outlines on a field of 24 by 24, drawn with one stroke, so that they are as one
 * family at any size.
 */
import type { Colour, PathNode } from './scene.ts';

export const ICON_VIEW = 24;

export const ICONS = {
  back: 'M15 5 L8 12 L15 19',
  forward: 'M9 5 L16 12 L9 19',
  up: 'M5 15 L12 8 L19 15',
  down: 'M5 9 L12 16 L19 9',
  check: 'M5 12.5 L10 17.5 L19 7.5',
  close: 'M6 6 L18 18 M18 6 L6 18',
  plus: 'M12 5 V19 M5 12 H19',
  minus: 'M5 12 H19',
  apps: 'M5 4 H9 A1 1 0 0 1 10 5 V9 A1 1 0 0 1 9 10 H5 A1 1 0 0 1 4 9 V5 A1 1 0 0 1 5 4 Z M15 4 H19 A1 1 0 0 1 20 5 V9 A1 1 0 0 1 19 10 H15 A1 1 0 0 1 14 9 V5 A1 1 0 0 1 15 4 Z M5 14 H9 A1 1 0 0 1 10 15 V19 A1 1 0 0 1 9 20 H5 A1 1 0 0 1 4 19 V15 A1 1 0 0 1 5 14 Z M15 14 H19 A1 1 0 0 1 20 15 V19 A1 1 0 0 1 19 20 H15 A1 1 0 0 1 14 19 V15 A1 1 0 0 1 15 14 Z',
  bell: 'M6 16.5 C7.2 15.2 7 13.5 7 10.5 A5 5 0 0 1 17 10.5 C17 13.5 16.8 15.2 18 16.5 Z M10.2 19.5 A2 2 0 0 0 13.8 19.5',
  sliders:
    'M4 7 H12 M18 7 H20 M4 17 H6 M12 17 H20 M17.5 7 A2.5 2.5 0 1 1 12.5 7 A2.5 2.5 0 1 1 17.5 7 M11.5 17 A2.5 2.5 0 1 1 6.5 17 A2.5 2.5 0 1 1 11.5 17',
  network:
    'M3.5 9.5 C8.3 4.9 15.7 4.9 20.5 9.5 M6.6 13 C9.7 10.2 14.3 10.2 17.4 13 M9.6 16.4 C11 15.3 13 15.3 14.4 16.4 M12 19.3 V19.4',
  offline:
    'M3.5 9.5 C5.4 7.7 7.7 6.6 10 6.2 M14.5 6.3 C16.7 6.8 18.8 7.9 20.5 9.5 M6.6 13 C7.6 12.1 8.7 11.5 9.9 11.2 M9.6 16.4 C11 15.3 13 15.3 14.4 16.4 M12 19.3 V19.4 M4.5 4 L19.5 19.5',
  sound:
    'M4 9.5 H7.5 L12 5.5 V18.5 L7.5 14.5 H4 Z M15 9.5 C16.3 10.9 16.3 13.1 15 14.5 M17.6 7 C20.5 9.8 20.5 14.2 17.6 17',
  silent: 'M4 9.5 H7.5 L12 5.5 V18.5 L7.5 14.5 H4 Z M15.5 9.5 L20.5 14.5 M20.5 9.5 L15.5 14.5',
  sun: 'M16 12 A4 4 0 1 1 8 12 A4 4 0 1 1 16 12 M12 3 V4.5 M12 19.5 V21 M3 12 H4.5 M19.5 12 H21 M5.6 5.6 L6.7 6.7 M17.3 17.3 L18.4 18.4 M5.6 18.4 L6.7 17.3 M17.3 6.7 L18.4 5.6',
  moon: 'M19.5 14.2 A8 8 0 1 1 9.8 4.5 A6.5 6.5 0 0 0 19.5 14.2 Z',
  contrast: 'M20 12 A8 8 0 1 1 4 12 A8 8 0 1 1 20 12 M12 4 V20 M12 8 H18.5 M12 12 H20 M12 16 H18.5',
  text: 'M3 18.5 L8.5 5 L14 18.5 M5 14 H12 M15 18.5 L18 11 L21 18.5 M16 16 H20',
  motion: 'M4 8 H14 M4 12 H10 M4 16 H14 M16 7 L21 12 L16 17',
  microphone:
    'M12 3.5 A3 3 0 0 1 15 6.5 V11 A3 3 0 0 1 9 11 V6.5 A3 3 0 0 1 12 3.5 Z M6 11 A6 6 0 0 0 18 11 M12 17 V20.5 M9 20.5 H15',
  muted:
    'M12 3.5 A3 3 0 0 1 15 6.5 V11 A3 3 0 0 1 9 11 V6.5 A3 3 0 0 1 12 3.5 Z M6 11 A6 6 0 0 0 18 11 M12 17 V20.5 M9 20.5 H15 M4 4 L20 20',
  shield: 'M12 3.5 L19 6 V11.5 C19 16 16 19 12 20.5 C8 19 5 16 5 11.5 V6 Z',
  upload: 'M12 16 V5 M7.5 9 L12 4.5 L16.5 9 M5 15 V18.5 A1.5 1.5 0 0 0 6.5 20 H17.5 A1.5 1.5 0 0 0 19 18.5 V15',
  info: 'M20.5 12 A8.5 8.5 0 1 1 3.5 12 A8.5 8.5 0 1 1 20.5 12 M12 11 V16.5 M12 7.6 V7.7',
  warn: 'M12 4 L21 19.5 H3 Z M12 10 V14 M12 16.9 V17',
  error: 'M8.2 3.5 H15.8 L20.5 8.2 V15.8 L15.8 20.5 H8.2 L3.5 15.8 V8.2 Z M12 7.5 V13 M12 16.2 V16.3',
  timer: 'M19.5 13 A7.5 7.5 0 1 1 4.5 13 A7.5 7.5 0 1 1 19.5 13 M12 8.5 V13 L15 15 M9.5 2.5 H14.5',
  power: 'M12 3.5 V11.5 M7 6.2 A8 8 0 1 0 17 6.2',
  language:
    'M20.5 12 A8.5 8.5 0 1 1 3.5 12 A8.5 8.5 0 1 1 20.5 12 M3.5 12 H20.5 M12 3.5 C15 6 15.8 9 15.8 12 C15.8 15 15 18 12 20.5 C9 18 8.2 15 8.2 12 C8.2 9 9 6 12 3.5 Z',
  play: 'M8 5 L19 12 L8 19 Z',
  pause: 'M8.5 5 V19 M15.5 5 V19',
  next: 'M6 5.5 L15 12 L6 18.5 Z M18 5.5 V18.5',
  previous: 'M18 5.5 L9 12 L18 18.5 Z M6 5.5 V18.5',
} as const;
export type IconName = keyof typeof ICONS;

/** Signs that point along the line of reading turn round with it. */
const POINTING: ReadonlySet<IconName> = new Set(['back', 'forward', 'motion', 'sound', 'silent']);

/** Thickness of the stroke, as a part of the size. */
const WEIGHT = 2 / ICON_VIEW;

/** A sign with its corner at x and y. `dir` turns round those that point along the line. */
export function iconNode(
  name: IconName,
  at: { readonly x: number; readonly y: number; readonly size: number },
  options: {
    readonly colour?: Colour;
    readonly dir?: 'ltr' | 'rtl';
    readonly fill?: boolean;
    readonly weight?: number;
  } = {},
): PathNode {
  const { x, y, size } = at;
  const colour = options.colour ?? '@text';
  return {
    kind: 'path',
    x,
    y,
    w: size,
    h: size,
    d: options.dir === 'rtl' && POINTING.has(name) ? turned(ICONS[name]) : ICONS[name],
    view: [ICON_VIEW, ICON_VIEW],
    stroke: colour,
    strokeWidth: Math.max(2, size * WEIGHT * (options.weight ?? 1)),
    cap: 'round',
    join: 'round',
    ...(options.fill ? { fill: colour } : {}),
  };
}

/** The same path, seen in a mirror. It understands what the signs above are made of: M, L, H, V, C, A and Z with absolute coordinates. */
function turned(d: string): string {
  return d.replaceAll(/([MLHVCAZ])([^MLHVCAZ]*)/g, (_, command: string, rest: string) => {
    const numbers =
      rest.trim() === ''
        ? []
        : rest
            .trim()
            .split(/[\s,]+/)
            .map(Number);
    const mirror = (value: number) => Math.round((ICON_VIEW - value) * 1_000) / 1_000;
    const changed =
      command === 'A'
        ? numbers.map((value, index) => (index % 7 === 5 ? mirror(value) : index % 7 === 4 ? 1 - value : value))
        : command === 'V'
          ? numbers
          : numbers.map((value, index) => (command === 'H' || index % 2 === 0 ? mirror(value) : value));
    return `${command}${changed.join(' ')} `;
  });
}
