/** A scene or a card as it comes, checked, and as the scene that is shown. */

import type { Surroundings, TextQuestion, TextSize } from '@device-core/plugin-api';
import { type Card, checkCard, checkScene, isCard, type Scene } from '@device-core/plugin-api/scene';

export interface CardWorld {
  readonly surroundings: Surroundings;
  measure(texts: readonly TextQuestion[]): Promise<readonly TextSize[]>;
}

export interface Drawn {
  readonly scene: Scene;
  /** Where it is one: it is laid out again when the surroundings change. */
  readonly card?: Card;
}

/** Throws SCENE_INVALID. */
export async function drawn(value: unknown, what: string, _world: CardWorld): Promise<Drawn> {
  if (!isCard(value)) return { scene: checkScene(value, what) };
  const card = checkCard(value, what);
  return { scene: plain(card), card };
}

/** Title and body, until the theme lays it out. */
function plain(card: Card): Scene {
  const body = 'body' in card ? card.body : undefined;
  return {
    scene: 1,
    ...(card.title !== undefined && { title: card.title }),
    nodes: [
      { kind: 'text', x: 48, y: 48, w: 624, h: 120, role: 'title', text: card.title ?? '' },
      { kind: 'text', x: 48, y: 192, w: 624, h: 480, text: body ?? '' },
    ],
  };
}
