import { GRID, type ImageCard, type Layout } from '@device-core/plugin-api/scene';
import type { Filled, Room } from '../template.ts';

const GAP = 16;

/** The picture as large as there is room, and what it shows below. */
export async function imageCard(card: ImageCard, room: Room, layout: Layout): Promise<Filled> {
  const most = Math.max(1, Math.floor((room.height * 0.4) / layout.line('body')));
  const [caption] = await layout.blocks(
    card.caption === undefined
      ? undefined
      : {
          text: card.caption,
          role: 'body' as const,
          width: room.width,
          lines: Math.min(3, most),
          colour: '@text-soft',
        },
  );
  const height = Math.max(GRID.target, room.height - (caption === undefined ? 0 : caption.height + GAP));
  return {
    nodes: [
      {
        kind: 'image',
        image: card.image,
        label: card.label,
        w: room.width,
        h: height,
        fit: 'cover',
        radius: GRID.radius,
      },
      ...(caption === undefined ? [] : [caption.at(0, height + GAP)]),
    ],
  };
}
