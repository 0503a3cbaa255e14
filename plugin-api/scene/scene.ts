/**
 * Scenes, format 1: what a screen shows, as data. Coordinates are panel units, 0..720 from the top left whatever the
 * panel; a node's x and y count from its group. Times are milliseconds, angles degrees clockwise.
 */

/** `#rrggbb`, `#rrggbbaa` or `@token` of the theme (`ColourToken`). */
export type Colour = string;

/**
 * A colour, or a gradient across the node's box: `linear` is the angle of its direction (0 to the right, 90 down),
 * stops go from 0 to 1.
 */
export type Paint =
  | Colour
  | { readonly linear: number; readonly stops: readonly (readonly [at: number, colour: Colour])[] }
  | { readonly radial: true; readonly stops: readonly (readonly [at: number, colour: Colour])[] };

export interface Shadow {
  readonly x?: number;
  readonly y?: number;
  /** Standard deviation, units. */
  readonly blur: number;
  readonly colour: Colour;
}

/** Members of every kind. */
export interface NodeBase {
  /** `^[A-Za-z0-9_-]{1,64}$`, unique in the scene. Patches and timelines name nodes by it. */
  readonly id?: string;
  /** 0 if absent. */
  readonly x?: number;
  readonly y?: number;
  readonly w?: number;
  readonly h?: number;
  /** 0..1; 1 if absent. A node of 0 is neither painted nor touched. */
  readonly opacity?: number;
  /** About the middle of its box. */
  readonly rotate?: number;
  readonly scale?: number;
  /** Text for a screen reader; required for a node with `tap` and no text. */
  readonly label?: string;
  /** Makes it a target: told to the owner of the scene as `tap`. */
  readonly tap?: string;
}

export interface GroupNode extends NodeBase {
  readonly kind: 'group';
  readonly nodes: readonly SceneNode[];
  /** Nothing of its nodes is painted or touched outside its box. */
  readonly clip?: boolean;
  /** Corner radius of the clip. */
  readonly radius?: number;
}

interface Shape extends NodeBase {
  readonly fill?: Paint;
  readonly stroke?: Colour;
  /** 1 where there is a stroke; drawn on the outline's middle. */
  readonly strokeWidth?: number;
  readonly shadow?: Shadow;
}

export interface RectNode extends Shape {
  readonly kind: 'rect';
  readonly radius?: number;
}

/** Ellipse in the box, or an arc of it: `start` 0 is at the top. */
export interface EllipseNode extends Shape {
  readonly kind: 'ellipse';
  readonly start?: number;
  /** 360 if absent. With a fill it is a pie, with a stroke alone an arc. */
  readonly sweep?: number;
  readonly cap?: 'butt' | 'round';
}

export interface PathNode extends Shape {
  readonly kind: 'path';
  /** Path data as in SVG 1.1 (all commands), at most 8,192 characters and 1,024 segments; from the node's corner. */
  readonly d: string;
  /** Size of the data's own coordinates, scaled to w and h; absent: units. */
  readonly view?: readonly [w: number, h: number];
  readonly cap?: 'butt' | 'round';
  readonly join?: 'miter' | 'round';
}

/** Roles of the type scale (`theme.ts`). */
export type TextRole = 'hero' | 'display' | 'title' | 'heading' | 'body' | 'label' | 'caption';

export interface TextNode extends NodeBase {
  readonly kind: 'text';
  /**
   * May hold bindings: `{time:HH:mm}`, `{date:EEEE d MMMM}`, `{countdown:<epoch ms>}`, `{elapsed:<epoch ms>}`,
   * `{progress}`. A brace is written twice. At most 2,000 code units.
   */
  readonly text: string;
  /** `body` if neither role nor size is given. Roles follow the text scale by reflow; sizes do, too, within w and h. */
  readonly role?: TextRole;
  /** Units, 8..400. */
  readonly size?: number;
  readonly weight?: 400 | 700;
  /** A family that is registered on the device; `Inter` if absent. */
  readonly font?: string;
  /** `@text` if absent. */
  readonly colour?: Colour;
  readonly align?: 'start' | 'center' | 'end';
  readonly valign?: 'top' | 'middle' | 'bottom';
  /** Most lines; what does not fit ends in an ellipsis at a word. As many as h holds if absent; without h, 1. */
  readonly lines?: number;
  /** `auto`: the first strong character says. */
  readonly dir?: 'auto' | 'ltr' | 'rtl';
  /** Digits of one width, so that a clock does not dance. */
  readonly tabular?: boolean;
}

export interface ImageNode extends NodeBase {
  readonly kind: 'image';
  /** Name that `display.image` answered (`sha256-...`), or a file of the app's package (`icons/sun.png`). */
  readonly image: string;
  /** `cover` if absent. */
  readonly fit?: 'cover' | 'contain' | 'fill';
  readonly radius?: number;
}

/** One frame of a sheet, or an animation of it. */
export interface SpriteNode extends NodeBase {
  readonly kind: 'sprite';
  readonly image: string;
  /** Frames in the sheet, left to right, top to bottom, 1..1,024; each `columns` make a row. */
  readonly frames: number;
  readonly columns?: number;
  /** Shown frame, 0 first, where there is no fps. */
  readonly frame?: number;
  /** 1..30 */
  readonly fps?: number;
  /** `true` if absent. */
  readonly loop?: boolean;
}

export const EXPRESSIONS = ['neutral', 'happy', 'sad', 'surprised', 'sleepy', 'confused'] as const;
export type Expression = (typeof EXPRESSIONS)[number];
export const CHARACTER_STATES = ['idle', 'listening', 'thinking', 'speaking', 'muted', 'error'] as const;
export type CharacterState = (typeof CHARACTER_STATES)[number];

/** The device's character. It follows the voice turn by itself. */
export interface CharacterNode extends NodeBase {
  readonly kind: 'character';
  readonly expression?: Expression;
  /** State in the Core's scenes only; apps choose the expression. */
  readonly state?: CharacterState;
}

/** Pixels that the app sends by a stream `display.surface`. */
export interface VideoNode extends NodeBase {
  readonly kind: 'video';
  /** Name of the stream, as `id`. */
  readonly stream: string;
  readonly fit?: 'cover' | 'contain' | 'fill';
  readonly radius?: number;
}

export type SceneNode =
  | GroupNode
  | RectNode
  | EllipseNode
  | PathNode
  | TextNode
  | ImageNode
  | SpriteNode
  | CharacterNode
  | VideoNode;
export type NodeKind = SceneNode['kind'];

export const EASINGS = ['linear', 'in', 'out', 'in-out', 'spring'] as const;
export type Easing = (typeof EASINGS)[number];
export const ANIMATED = ['x', 'y', 'w', 'h', 'opacity', 'rotate', 'scale', 'sweep'] as const;
export type Animated = (typeof ANIMATED)[number];

/** A change of one property over time. The node's property is `to` when it is over. */
export interface Timeline {
  readonly node: string;
  readonly property: Animated;
  /** The present value if absent. */
  readonly from?: number;
  readonly to: number;
  /** 1..86,400,000: the ring of a long timer is one timeline, too. */
  readonly ms: number;
  readonly delay?: number;
  /** `in-out` if absent. */
  readonly ease?: Easing;
  /** How often it is played in all; 0 is for ever. */
  readonly repeat?: number;
  /** Every second time backwards. */
  readonly alternate?: boolean;
  /** Monotonic milliseconds at which it began. Set by `display` when it takes a scene or a patch; nobody else may give it. */
  readonly at?: number;
}

export interface Scene {
  readonly scene: 1;
  /** Name of the screen, for a screen reader and the banner that offers it. */
  readonly title?: string;
  /** `@surface` if absent. */
  readonly background?: Paint;
  readonly nodes: readonly SceneNode[];
  readonly timelines?: readonly Timeline[];
  /** 0..1, what `{progress}` shows. */
  readonly progress?: number;
}

/** A change of a scene, whole or not at all. In this order: remove, set, add, timelines. */
export interface ScenePatch {
  /** Version of the scene that it is made for, as `display.show` and `display.patch` answered it. */
  readonly version: number;
  /** Members of nodes, by id; null takes a member away. `kind` and `id` stay. */
  readonly set?: readonly ({ readonly id: string } & Readonly<Record<string, unknown>>)[];
  /** New nodes: at the end, or in a group, or before a node. */
  readonly add?: readonly { readonly node: SceneNode; readonly into?: string; readonly before?: string }[];
  /** Ids; what is in a group goes with it. */
  readonly remove?: readonly string[];
  /** Added; one of the same node and property replaces the former. */
  readonly timelines?: readonly Timeline[];
  readonly background?: Paint;
  readonly title?: string;
  readonly progress?: number;
}

export const SCENE_LIMITS = {
  /** Bytes of the scene as JSON. */
  bytes: 65_536,
  nodes: 256,
  depth: 8,
  timelines: 32,
  textUnits: 2_000,
  pathUnits: 8_192,
  pathSegments: 1_024,
  /** Largest magnitude of a coordinate or size. */
  units: 4_096,
  /** Size of a target of touch; smaller ones are enlarged. */
  target: 88,
} as const;
/** Width and height of the panel in scene units. */
export const PANEL_UNITS = 720;
