/** Members of each kind of node: the table of which the check and the JSON Schema are made. */
import { bindingProblem } from './bindings.ts';
import { colour } from './colour.ts';
import {
  bool,
  type Field,
  FieldProblem,
  type Fields,
  integer,
  isObject,
  list,
  number,
  oneOf,
  pattern,
  record,
  text,
  tuple,
  variants,
} from './fields.ts';
import { pathProblem } from './path-data.ts';
import { ANIMATED, CHARACTER_STATES, EASINGS, EXPRESSIONS, type NodeKind, SCENE_LIMITS } from './scene.ts';
import { TYPE } from './theme.ts';

const UNITS = number(-SCENE_LIMITS.units, SCENE_LIMITS.units);
const SIZE = number(0, SCENE_LIMITS.units);
const SHARE = number(0, 1);
const ANGLE = number(-36_000, 36_000);

export const ID = pattern(/^[A-Za-z0-9_-]{1,64}$/, 'it must be 1 to 64 letters, digits, - or _', 64);
const TAP = pattern(/^[A-Za-z0-9_.-]{1,64}$/, 'it must be 1 to 64 letters, digits, dots, - or _', 64);
/** Name of an image, or a file of the app's package: no way out of it. */
export const IMAGE = pattern(
  /^(?:sha256-[0-9a-f]{64}|(?!.*(?:^|\/)\.\.?(?:\/|$))[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_.-]+)*)$/,
  'it must be sha256-..., or the path of a file in the package of the app',
  256,
);
const STOPS = list(tuple(SHARE, colour), 2, 16);
const LINEAR = record(['linear', 'stops'], { linear: ANGLE, stops: STOPS });
const RADIAL = record(['radial', 'stops'], { radial: oneOf([true]), stops: STOPS });
export const PAINT: Field = {
  schema: { oneOf: [colour.schema, LINEAR.schema, RADIAL.schema] },
  check(value, at) {
    if (!isObject(value)) colour.check(value, at);
    else (value.radial === undefined ? LINEAR : RADIAL).check(value, at);
  },
};

const COMMON: Fields = {
  id: ID,
  x: UNITS,
  y: UNITS,
  w: SIZE,
  h: SIZE,
  opacity: SHARE,
  rotate: ANGLE,
  scale: number(0, 16),
  label: text(200),
  tap: TAP,
};
const SHAPE: Fields = {
  ...COMMON,
  fill: PAINT,
  stroke: colour,
  strokeWidth: number(0, 360),
  shadow: record(['blur', 'colour'], { x: number(-128, 128), y: number(-128, 128), blur: number(0, 64), colour }),
};
const FIT = oneOf(['cover', 'contain', 'fill']);
const RADIUS = number(0, 2_048);
const CAP = oneOf(['butt', 'round']);

/** A list of nodes; depth and number are counted by who walks the whole scene. */
const NODES: Field = {
  schema: { type: 'array', items: { $ref: '#/$defs/node' }, maxItems: SCENE_LIMITS.nodes },
  check(value, at) {
    if (!Array.isArray(value)) throw new FieldProblem(at, 'it must be a list');
  },
};

export const NODE_SHAPES: Readonly<
  Record<NodeKind, { readonly required: readonly string[]; readonly fields: Fields }>
> = {
  group: { required: ['nodes'], fields: { ...COMMON, nodes: NODES, clip: bool, radius: RADIUS } },
  rect: { required: ['w', 'h'], fields: { ...SHAPE, radius: RADIUS } },
  ellipse: { required: ['w', 'h'], fields: { ...SHAPE, start: ANGLE, sweep: number(-360, 360), cap: CAP } },
  path: {
    required: ['d'],
    fields: {
      ...SHAPE,
      d: text(SCENE_LIMITS.pathUnits, pathProblem, false),
      view: tuple(number(0.001, 16_384), number(0.001, 16_384)),
      cap: CAP,
      join: oneOf(['miter', 'round']),
    },
  },
  text: {
    required: ['text'],
    fields: {
      ...COMMON,
      text: text(SCENE_LIMITS.textUnits, bindingProblem),
      role: oneOf(Object.keys(TYPE)),
      size: number(8, 400),
      weight: oneOf([400, 700]),
      font: text(64, undefined, false),
      colour,
      align: oneOf(['start', 'center', 'end']),
      valign: oneOf(['top', 'middle', 'bottom']),
      lines: integer(1, 64),
      dir: oneOf(['auto', 'ltr', 'rtl']),
      tabular: bool,
    },
  },
  image: { required: ['image', 'w', 'h'], fields: { ...COMMON, image: IMAGE, fit: FIT, radius: RADIUS } },
  sprite: {
    required: ['image', 'w', 'h', 'frames'],
    fields: {
      ...COMMON,
      image: IMAGE,
      frames: integer(1, 1_024),
      columns: integer(1, 1_024),
      frame: integer(0, 1_023),
      fps: number(1, 30),
      loop: bool,
    },
  },
  character: {
    required: ['w', 'h'],
    fields: { ...COMMON, expression: oneOf(EXPRESSIONS), state: oneOf(CHARACTER_STATES) },
  },
  video: { required: ['stream', 'w', 'h'], fields: { ...COMMON, stream: ID, fit: FIT, radius: RADIUS } },
};
export const NODE: Field = variants('kind', NODE_SHAPES);

export const TIMELINE: Field = record(['node', 'property', 'to', 'ms'], {
  node: ID,
  property: oneOf(ANIMATED),
  from: UNITS,
  to: UNITS,
  ms: number(1, 86_400_000),
  delay: number(0, 600_000),
  ease: oneOf(EASINGS),
  repeat: integer(0, 100_000),
  alternate: bool,
});
export const SCENE_FIELDS: Fields = {
  scene: oneOf([1]),
  title: text(200),
  background: PAINT,
  nodes: NODES,
  timelines: list(TIMELINE, 0, SCENE_LIMITS.timelines),
  progress: SHARE,
};
