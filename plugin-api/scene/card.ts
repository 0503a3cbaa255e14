/** Cards: what a screen means, not how it looks. The theme draws them, at any text scale, in either direction. */

export interface CardAction {
  /** Told to the app as `tap`. */
  readonly id: string;
  readonly title: string;
  /** One of them at most. */
  readonly primary?: boolean;
}

interface CardBase {
  readonly card: 1;
  readonly title?: string;
  /** Name of an image, as in a scene. */
  readonly icon?: string;
  /** At most 2. Whatever can be tapped can be said: the title is the word. */
  readonly actions?: readonly CardAction[];
}

export interface TextCard extends CardBase {
  readonly template: 'text';
  /** A large figure or word above the body: `21 °C`. */
  readonly value?: string;
  readonly body?: string;
}

export interface ListCard extends CardBase {
  readonly template: 'list';
  /** At most 50; those that do not fit are scrolled to. An item with an id can be tapped. */
  readonly items: readonly {
    readonly id?: string;
    readonly title: string;
    readonly body?: string;
    readonly icon?: string;
    /** At the end of the line: `08:30`. */
    readonly value?: string;
  }[];
}

export interface ChoiceCard extends CardBase {
  readonly template: 'choice';
  readonly body?: string;
  /** 2..8 */
  readonly options: readonly { readonly id: string; readonly title: string; readonly icon?: string }[];
}

export interface ImageCard extends CardBase {
  readonly template: 'image';
  readonly image: string;
  readonly caption?: string;
  /** For a screen reader. */
  readonly label: string;
}

export interface ProgressCard extends CardBase {
  readonly template: 'progress';
  /** 0..1; absent: nobody knows how long. */
  readonly progress?: number;
  readonly body?: string;
}

export interface MediaCard extends CardBase {
  readonly template: 'media';
  readonly artist?: string;
  readonly image?: string;
  readonly playing: boolean;
  /** Milliseconds. */
  readonly positionMs?: number;
  readonly durationMs?: number;
  /** Which controls are offered; told as `tap`. */
  readonly controls?: readonly ('previous' | 'play' | 'pause' | 'next')[];
}

export interface TimerCard extends CardBase {
  readonly template: 'timer';
  /** Milliseconds since the Unix epoch at which it ends. */
  readonly until: number;
  /** Length of the whole, for the ring; absent: no ring. */
  readonly durationMs?: number;
  readonly body?: string;
}

export type Card = TextCard | ListCard | ChoiceCard | ImageCard | ProgressCard | MediaCard | TimerCard;
export type CardTemplate = Card['template'];
