/** Is it a character? Every complaint has a JSON pointer and a reason. */
import { nearest } from '../../kits/nearest.ts';
import { CHARACTER_LIMITS, type CharacterLook, type CharacterSpec, MOUTHS, MOVED } from '../../scene/character/spec.ts';
import { nodesOf } from '../../scene/check.ts';
import {
  bool,
  checked,
  checkMembers,
  type Field,
  FieldProblem,
  type Fields,
  isObject,
  list,
  number,
  oneOf,
  record,
  text,
  tuple,
} from '../../scene/fields.ts';
import { ID, NODE } from '../../scene/nodes.ts';
import { CHARACTER_STATES, EXPRESSIONS, type SceneNode } from '../../scene/scene.ts';

const KINDS: ReadonlySet<string> = new Set(['group', 'rect', 'ellipse', 'path']);
/** Members of a part, not of a look. */
const FIXED: ReadonlySet<string> = new Set(['id', 'kind', 'nodes', 'tap', 'label', 'd']);

const UNITS = number(1, 4_096);
const SHARE = number(-1, 1);
const DIRECTION = tuple(SHARE, SHARE);
const REACH = number(-64, 64);

const object: Field = {
  schema: { type: 'object' },
  check(value, at) {
    if (!isObject(value)) throw new FieldProblem(at, 'it must be an object');
  },
};

/** Ids with something each. */
function byId(item: Field): Field {
  return {
    schema: { type: 'object', additionalProperties: item.schema },
    check(value, at) {
      object.check(value, at);
      for (const [id, one] of Object.entries(value as object)) {
        ID.check(id, `${at}/${id}`);
        item.check(one, `${at}/${id}`);
      }
    },
  };
}

const CHANGES = byId(object);
const MOTION = record('part property from to ms'.split(' '), {
  part: ID,
  property: oneOf(MOVED),
  from: number(-720, 720),
  to: number(-720, 720),
  ms: number(100, 60_000),
  delay: number(0, 60_000),
  pause: number(0, 60_000),
  ease: oneOf(['linear', 'in', 'out', 'in-out']),
  alternate: bool,
});
const LOOK: Fields = { set: CHANGES, moves: list(MOTION, 0, CHARACTER_LIMITS.moves), gaze: DIRECTION };
const STATE_LOOK = record([], { ...LOOK, still: bool, glances: bool, rests: number(1_000, 3_600_000) });
const EXPRESSION_LOOK = record([], LOOK);
/** One for each name, none left out. */
const each = (names: readonly string[], field: Field): Field =>
  record(names, Object.fromEntries(names.map((name) => [name, field])));

const REQUIRED = ['character', 'title', 'view', 'parts', 'states', 'expressions', 'mouth'];
const FIELDS: Fields = {
  character: oneOf([1]),
  title: text(64, undefined, false),
  view: tuple(UNITS, UNITS),
  parts: list(object, 1, CHARACTER_LIMITS.parts),
  states: each(CHARACTER_STATES, STATE_LOOK),
  expressions: each(EXPRESSIONS, EXPRESSION_LOOK),
  mouth: each(MOUTHS, CHANGES),
  blink: record(['parts', 'every'], {
    parts: list(ID, 1, CHARACTER_LIMITS.parts),
    every: tuple(number(500, 600_000), number(500, 600_000)),
  }),
  gaze: byId(tuple(REACH, REACH)),
  blend: number(0, 2_000),
};

/** The value as a character. Throws SCENE_INVALID {what, where, reason}: `where` is `/parts/3/fil`. */
export function checkCharacter(value: unknown, what: string): CharacterSpec {
  return checked(what, value, (character) => {
    checkMembers(character, '', REQUIRED, FIELDS);
    checkWhole(character as CharacterSpec);
  });
}

function checkWhole(spec: CharacterSpec): void {
  const bytes = new TextEncoder().encode(JSON.stringify(spec)).byteLength;
  if (bytes > CHARACTER_LIMITS.bytes)
    throw new FieldProblem('', `it has ${bytes} bytes, ${CHARACTER_LIMITS.bytes} are the limit`);
  checkParts(spec.parts, '/parts', 1, new Map());
  const parts = new Map([...nodesOf(spec.parts)].map((part) => [part.id!, part]));
  if (parts.size > CHARACTER_LIMITS.parts)
    throw new FieldProblem('/parts', `there are ${parts.size} parts, ${CHARACTER_LIMITS.parts} are the limit`);
  for (const group of ['states', 'expressions'] as const) {
    for (const [name, look] of Object.entries(spec[group]) as [string, CharacterLook][]) {
      checkChanges(look.set ?? {}, `/${group}/${name}/set`, parts);
      for (const [index, { part }] of (look.moves ?? []).entries())
        mustBe(part, parts, `/${group}/${name}/moves/${index}/part`);
    }
  }
  for (const [shape, changes] of Object.entries(spec.mouth)) checkChanges(changes, `/mouth/${shape}`, parts);
  for (const [index, part] of (spec.blink?.parts ?? []).entries()) mustBe(part, parts, `/blink/parts/${index}`);
  for (const part of Object.keys(spec.gaze ?? {})) mustBe(part, parts, `/gaze/${part}`);
  const [least, most] = spec.blink?.every ?? [0, 0];
  if (least > most) throw new FieldProblem('/blink/every', 'the first must not be more than the second');
}

function checkParts(parts: readonly SceneNode[], at: string, depth: number, ids: Map<string, string>): void {
  if (depth > CHARACTER_LIMITS.depth) throw new FieldProblem(at, `groups are more than ${CHARACTER_LIMITS.depth} deep`);
  for (const [index, part] of parts.entries()) {
    const here = `${at}/${index}`;
    NODE.check(part, here);
    if (!KINDS.has(part.kind))
      throw new FieldProblem(`${here}/kind`, `it must be one of ${[...KINDS].join(', ')}: a character is drawn`);
    if (part.id === undefined) throw new FieldProblem(`${here}/id`, 'it is missing');
    const former = ids.get(part.id);
    if (former !== undefined) throw new FieldProblem(`${here}/id`, `${part.id} is the id of ${former}, too`);
    ids.set(part.id, here);
    for (const member of ['w', 'h'] as const)
      if (!((part[member] ?? 0) > 0)) throw new FieldProblem(`${here}/${member}`, 'it must be more than 0');
    if (part.tap !== undefined) throw new FieldProblem(`${here}/tap`, 'a character has no targets');
    if (part.kind === 'group') checkParts(part.nodes, `${here}/nodes`, depth + 1, ids);
  }
}

function mustBe(id: string, parts: ReadonlyMap<string, SceneNode>, at: string): SceneNode {
  const part = parts.get(id);
  if (part) return part;
  const near = nearest(id, parts.keys());
  throw new FieldProblem(at, `there is no part ${id}${near === undefined ? '' : `; did you mean ${near}?`}`);
}

/** A part with its changes has to be a node, too. */
function checkChanges(
  changes: CharacterSpec['mouth'][keyof CharacterSpec['mouth']],
  at: string,
  parts: ReadonlyMap<string, SceneNode>,
): void {
  for (const [id, members] of Object.entries(changes)) {
    const here = `${at}/${id}`;
    const part = mustBe(id, parts, here);
    for (const member of Object.keys(members))
      if (FIXED.has(member)) throw new FieldProblem(`${here}/${member}`, 'it cannot be changed');
    NODE.check({ ...part, ...members }, here);
  }
}
