import type { Scene } from '@device-core/plugin-api/scene';

export const BAR = 'bar';
export const BAR_UNITS = 320;
/** A name has a line or two. */
const MOST = 200;
const HEIGHT = 8;
const LEFT = (720 - BAR_UNITS) / 2;

/** The name of the device, and how much of it has started, 0..1. */
export function splashScene(name: string, share: number): Scene {
  const bar = { x: LEFT, y: 400, h: HEIGHT, radius: HEIGHT / 2 } as const;
  return {
    scene: 1,
    title: name.slice(0, MOST),
    background: '@background',
    nodes: [
      {
        kind: 'text',
        x: 48,
        y: 256,
        w: 624,
        h: 120,
        role: 'title',
        align: 'center',
        valign: 'bottom',
        text: plain(name.slice(0, MOST)),
      },
      { ...bar, kind: 'rect', w: BAR_UNITS, fill: '@sunken' },
      { ...bar, kind: 'rect', id: BAR, w: Math.round(BAR_UNITS * share), fill: '@accent' },
    ],
  };
}

/** A brace in a name is no binding. */
const plain = (text: string): string => text.replaceAll('{', '{{');
