import type { ProgressCard } from '../../card.ts';
import type { Layout } from '../layout.ts';
import type { Filled, Room } from '../template.ts';
import { RING, ring } from './ring.ts';

const GAP = 32;
const LARGEST = 360;
/** What says more goes where there is no place for the ring above it. */
const LEAST = 160;
const TURN_MS = 1_400;

/** A ring with the share in it; a piece of a ring that goes round where nobody knows how long it takes. */
export async function progressCard(card: ProgressCard, room: Room, layout: Layout): Promise<Filled> {
  const lines = Math.floor((room.height - GAP - LEAST) / layout.line('body'));
  const [body] = await layout.blocks(
    card.body === undefined || lines < 1
      ? undefined
      : {
          text: card.body,
          role: 'body' as const,
          width: room.width,
          lines: Math.min(3, lines),
          colour: '@text-soft',
          align: 'center' as const,
        },
  );
  const below = body === undefined ? 0 : body.height + GAP;
  const round = ring(Math.max(88, Math.min(LARGEST, room.height - below, room.width)));
  const x = (room.width - round.size) / 2;
  const y = Math.max(0, Math.round((room.height - round.size - below) / 2));
  const text = body === undefined ? [] : [body.at(0, y + round.size + GAP)];
  const { progress } = card;
  if (progress === undefined)
    return {
      nodes: [
        ...round.at(x, y, 100).map((node) => (node.id === RING ? { ...node, label: layout.words.working } : node)),
        ...text,
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
      ...text,
    ],
    progress,
  };
}
