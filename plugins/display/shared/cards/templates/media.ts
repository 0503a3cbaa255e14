import { maybe } from '@device-core/plugin-api';
import {
  GRID,
  ground,
  iconNode,
  type Layout,
  type MediaCard,
  type SceneNode,
  type Timeline,
  target,
} from '@device-core/plugin-api/scene';
import type { CardOptions, Filled, Room } from '../template.ts';

const COVER = 280;
const BAR = 12;
const PLAY = 112;
const BESIDE = 88;
const BAR_ID = 'card-bar';

/** Picture, title and artist; how far it is; and the controls that are offered. */
export async function mediaCard(card: MediaCard, room: Room, layout: Layout, options: CardOptions): Promise<Filled> {
  const { image, title, artist, playing, positionMs = 0, durationMs } = card;
  const controls = controlNodes(card, room.width, layout);
  const controlsY = room.height - controls.height;
  const bar =
    durationMs === undefined || durationMs <= 0
      ? undefined
      : { share: Math.min(1, positionMs / durationMs), left: Math.max(0, durationMs - positionMs) };
  const time = Math.ceil(layout.line('caption'));
  const barHeight = bar === undefined ? 0 : BAR + 12 + time + 32;
  const top = controlsY - (controls.height === 0 ? 0 : 24) - barHeight;
  const space = top - 24;
  const cover = image === undefined || space < GRID.target ? 0 : Math.min(COVER, space);
  const x = cover === 0 ? 0 : cover + 32;
  const role = (['title', 'heading', 'label'] as const).find((one) => layout.line(one) <= space);
  const [name, by] = await layout.blocks(
    title === undefined || role === undefined
      ? undefined
      : { text: title, role, width: room.width - x, lines: Math.min(3, Math.floor(space / layout.line(role))) },
    artist === undefined
      ? undefined
      : { text: artist, role: 'body' as const, width: room.width - x, lines: 2, colour: '@text-soft' },
  );
  const gap = name !== undefined && by !== undefined ? 8 : 0;
  // The artist goes where there is no place for both.
  const artistFits = (name?.height ?? 0) + gap + (by?.height ?? 0) <= space;
  const text = (name?.height ?? 0) + (artistFits ? gap + (by?.height ?? 0) : 0);
  const start = cover > 0 ? Math.max(0, Math.round((cover - text) / 2)) : Math.max(0, Math.round((space - text) / 2));
  const nodes: SceneNode[] = [];
  if (image !== undefined && cover > 0)
    nodes.push({
      kind: 'image',
      image,
      w: cover,
      h: cover,
      fit: 'cover',
      radius: GRID.radius,
      ...maybe({ label: title }),
    });
  if (name !== undefined) nodes.push(name.at(x, start));
  if (by !== undefined && artistFits) nodes.push(by.at(x, start + (name?.height ?? 0) + gap));
  const timelines: Timeline[] = [];
  if (bar !== undefined) {
    const done = Math.round(room.width * bar.share);
    nodes.push(
      { kind: 'rect', y: top, w: room.width, h: BAR, radius: BAR / 2, fill: '@sunken' },
      {
        kind: 'rect',
        id: BAR_ID,
        x: layout.dir === 'rtl' ? room.width - Math.max(BAR, done) : 0,
        y: top,
        w: Math.max(BAR, done),
        h: BAR,
        radius: BAR / 2,
        fill: '@accent',
      },
      {
        kind: 'text',
        y: top + BAR + 12,
        w: room.width,
        h: time,
        // The screen counts a playing position; a paused one is a fixed text.
        text: playing ? `{countdown:${Math.round(options.now + bar.left)}}` : clock(bar.left),
        role: 'caption',
        colour: '@text-soft',
        align: 'end',
        dir: 'ltr',
        lines: 1,
        tabular: true,
      },
    );
    // A timeline takes a millisecond at least.
    if (playing && bar.left >= 1)
      timelines.push({
        node: BAR_ID,
        property: 'w',
        from: Math.max(BAR, done),
        to: room.width,
        ms: Math.min(86_400_000, bar.left),
        ease: 'linear',
      });
  }
  nodes.push(...controls.nodes.map((node) => ({ ...node, y: (node.y ?? 0) + controlsY })));
  return { nodes, timelines };
}

/** Hours only where there are some. */
function clock(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

/** The effective one of play and pause. The signs and the bar of a player do not turn round with the line. */
function controlNodes(card: MediaCard, width: number, layout: Layout): { nodes: readonly SceneNode[]; height: number } {
  const offered = card.controls ?? [];
  const middle = card.playing ? 'pause' : 'play';
  const shown = (['previous', middle, 'next'] as const).filter((name) => offered.includes(name));
  // The whole screen is mirrored at the end: turned round here, they stay as they are on every player.
  if (layout.dir === 'rtl') shown.reverse();
  if (shown.length === 0) return { nodes: [], height: 0 };
  const sizes = shown.map((name) => (name === middle ? PLAY : BESIDE));
  const gap = 40;
  const total = sizes.reduce((sum, size) => sum + size + gap, -gap);
  let x = Math.round((width - total) / 2);
  const nodes = shown.map((name, index) => {
    const size = sizes[index] ?? BESIDE;
    const main = name === middle;
    const icon = Math.round(size * 0.46);
    const placed = target(
      `control-${name}`,
      name,
      { x, y: Math.round((PLAY - size) / 2), w: size, h: size },
      [
        ground(size, size, main ? '@accent' : '@raised', size / 2),
        iconNode(
          name,
          { x: (size - icon) / 2, y: (size - icon) / 2, size: icon },
          { colour: main ? '@on-accent' : '@text', fill: true, weight: main && name === 'pause' ? 1.6 : 1 },
        ),
      ],
      layout.words[name],
    );
    x += size + gap;
    return placed;
  });
  return { nodes, height: PLAY };
}
