import type { Layout, SceneNode, TimerCard } from '@device-core/plugin-api/scene';
import type { CardOptions, Filled, Room } from '../template.ts';
import { belowRing, RING, ring } from './ring.ts';

const LARGEST = 420;
const HOUR_MS = 3_600_000;

/** Remaining time, counted by the screen itself, in a ring that closes. */
export async function timerCard(card: TimerCard, room: Room, layout: Layout, options: CardOptions): Promise<Filled> {
  const below = await belowRing(card.body, 2, room, layout);
  const left = Math.max(0, card.until - options.now);
  const longest = left >= HOUR_MS ? '00:00:00' : '00:00';
  const round = ring(Math.max(88, Math.min(LARGEST, room.height - below.height, room.width)));
  const whole = card.durationMs;
  const inRing = whole !== undefined;
  const width = inRing ? round.inner : room.width;
  const fit = await layout.fitted(
    longest,
    inRing ? 'display' : 'hero',
    { width, height: inRing ? round.inner : room.height - below.height },
    longest,
  );
  const height = inRing ? round.size : fit.height;
  const y = Math.max(0, Math.round((room.height - height - below.height) / 2));
  const share = whole === undefined ? 0 : Math.min(1, left / Math.max(1, whole));
  const nodes: SceneNode[] = [
    ...(inRing ? round.at((room.width - round.size) / 2, y, Math.round(360 * share)) : []),
    {
      kind: 'text',
      x: 0,
      y,
      w: room.width,
      h: height,
      text: `{countdown:${Math.round(card.until)}}`,
      role: inRing ? 'display' : 'hero',
      size: fit.size,
      weight: 700,
      align: 'center',
      valign: 'middle',
      lines: 1,
      tabular: true,
    },
    ...below.at(y + height),
  ];
  // A timeline takes a millisecond at least.
  const moving = inRing && left >= 1;
  return {
    nodes,
    ...(moving
      ? {
          timelines: [
            {
              node: RING,
              property: 'sweep',
              from: Math.round(360 * share),
              to: 0,
              ms: Math.min(86_400_000, left),
              ease: 'linear',
            },
          ],
        }
      : {}),
  };
}
