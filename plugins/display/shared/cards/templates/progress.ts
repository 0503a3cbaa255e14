import type { Layout, ProgressCard } from '@device-core/plugin-api/scene';
import type { Filled, Room } from '../template.ts';
import { belowRing, RING, ring } from './ring.ts';

const LARGEST = 360;
const TURN_MS = 1_400;

/** A ring with the share in it; a piece of a ring that goes round where nobody knows how long it takes. */
export async function progressCard(card: ProgressCard, room: Room, layout: Layout): Promise<Filled> {
  const below = await belowRing(card.body, 3, room, layout);
  const round = ring(Math.max(88, Math.min(LARGEST, room.height - below.height, room.width)));
  const x = (room.width - round.size) / 2;
  const y = Math.max(0, Math.round((room.height - round.size - below.height) / 2));
  const { progress } = card;
  if (progress === undefined)
    return {
      nodes: [
        ...round.at(x, y, 100).map((node) => (node.id === RING ? { ...node, label: layout.words.working } : node)),
        ...below.at(y + round.size),
      ],
      timelines: [{ node: RING, property: 'rotate', from: 0, to: 360, ms: TURN_MS, ease: 'linear', repeat: 0 }],
    };
  const fit = await layout.fitted('100 %', 'display', { width: round.inner, height: round.inner });
  return {
    nodes: [
      ...round.at(x, y, Math.round(360 * progress)),
      {
        kind: 'text',
        x,
        y,
        w: round.size,
        h: round.size,
        text: '{progress}',
        role: 'display',
        size: fit.size,
        weight: 700,
        align: 'center',
        valign: 'middle',
        lines: 1,
        tabular: true,
      },
      ...below.at(y + round.size),
    ],
    progress,
  };
}
