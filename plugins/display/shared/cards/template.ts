/** Input and output of a template. */
import type { Card, Layout, SceneNode, Theme, Timeline } from '@device-core/plugin-api/scene';
import type { TextQuestion, TextSize } from '@device-core/plugin-api/services/renderer';

export interface CardOptions {
  readonly theme: Theme;
  readonly textScale: number;
  /** BCP 47: direction of the screen, and the words of its own. */
  readonly locale: string;
  /** As the renderer measures, with this theme and text scale. */
  measure(texts: readonly TextQuestion[]): Promise<readonly TextSize[]>;
  /** Milliseconds since the Unix epoch: where the ring of a timer and the bar of a medium begin. */
  readonly now: number;
  /** Page of a card that has more than fits; the last one where there are fewer. 0 if absent. */
  readonly page?: number;
  /** It was turned to this page just now. */
  readonly turned?: 'further' | 'back';
}

/** Room for a template: from 0, 0 to the right and down. */
export interface Room {
  readonly width: number;
  readonly height: number;
}

export interface Filled {
  readonly nodes: readonly SceneNode[];
  readonly timelines?: readonly Timeline[];
  /** Progress of the scene, shown by `{progress}`. */
  readonly progress?: number;
}

export type Template<C extends Card> = (card: C, room: Room, layout: Layout, options: CardOptions) => Promise<Filled>;
