/**
 * A character: a drawing of named parts, and what states, expressions and sounds change of it. Data only;
 * `character.yaml` is read into it.
 */
import type { CharacterState, Easing, Expression, SceneNode } from '../scene.ts';

/** Shapes of a mouth; each character draws all of them. */
export const MOUTHS = ['rest', 'closed', 'small', 'open', 'wide', 'round'] as const;
export type MouthShape = (typeof MOUTHS)[number];

/** Members of parts, by the id of the part: they stand in place of those of `parts`. */
export type PartChanges = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export const MOVED = ['x', 'y', 'rotate', 'sweep', 'scale', 'opacity'] as const;
export type CharacterMoved = (typeof MOVED)[number];

/** A motion that goes on for as long as its look does. `x y rotate sweep` are added to what the part has, `scale opacity` multiply it. */
export interface CharacterMotion {
  readonly part: string;
  readonly property: CharacterMoved;
  readonly from: number;
  readonly to: number;
  /** Time of one way, 100..60,000. */
  readonly ms: number;
  /** Delay of the first one; it stands at `from` meanwhile. */
  readonly delay?: number;
  /** At `from`, after each one. */
  readonly pause?: number;
  /** `in-out` if absent; a character knows no `spring`. */
  readonly ease?: Exclude<Easing, 'spring'>;
  /** And back, as long again. */
  readonly alternate?: boolean;
}

/** Changes of the drawing by a state or an expression. */
export interface CharacterLook {
  readonly set?: PartChanges;
  readonly moves?: readonly CharacterMotion[];
  /** Direction of the eyes, -1..1 each, unless another is set. */
  readonly gaze?: readonly [x: number, y: number];
  /** Nothing moves: no blink, no glance, no motion. Of states. */
  readonly still?: boolean;
  /** It looks about now and then. Of states. */
  readonly glances?: boolean;
  /** Milliseconds after which it is still: a screen at which nobody looks costs nothing. Of states. */
  readonly rests?: number;
}

export interface CharacterSpec {
  readonly character: 1;
  readonly title: string;
  /** Size of the drawing's own coordinates. It is scaled to the box of its node, and stands in the middle of it. */
  readonly view: readonly [w: number, h: number];
  /** Groups, rectangles, ellipses and paths; each has an id. The later one is above. A path has w and h. */
  readonly parts: readonly SceneNode[];
  readonly states: Readonly<Record<CharacterState, CharacterLook>>;
  readonly expressions: Readonly<Record<Expression, CharacterLook>>;
  /** While it speaks. */
  readonly mouth: Readonly<Record<MouthShape, PartChanges>>;
  /** Parts that are squashed for a moment, at their middle. */
  readonly blink?: { readonly parts: readonly string[]; readonly every: readonly [least: number, most: number] };
  /** How far each part moves where it looks to the side and down. */
  readonly gaze?: Readonly<Record<string, readonly [x: number, y: number]>>;
  /** Milliseconds from one pose to the next; 240 if absent. */
  readonly blend?: number;
}

/** Limits of a character, beyond those of a scene. */
export const CHARACTER_LIMITS = { parts: 96, depth: 5, moves: 12, bytes: 65_536 } as const;
