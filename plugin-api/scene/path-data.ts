/** Path data of SVG 1.1, looked at before a renderer gets it: what never ends or leads far away is refused. */
import { SCENE_LIMITS } from './scene.ts';

/** Numbers that each command takes at a time. */
const ARGUMENTS: Readonly<Record<string, number>> = { m: 2, l: 2, h: 1, v: 1, c: 6, s: 4, q: 4, t: 2, a: 7, z: 0 };
const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*,?[ \t\n\r]*/y;
const FARTHEST = 16_384;

export interface PathSegment {
  /** As it was written: capitals are absolute. */
  readonly command: string;
  readonly values: readonly number[];
}

/** The segments, or a sentence on what is wrong with them. */
export function readPath(data: string): readonly PathSegment[] | string {
  const segments: PathSegment[] = [];
  let at = 0;
  const space = (): void => {
    SPACE.lastIndex = at;
    SPACE.exec(data);
    at = SPACE.lastIndex;
  };
  let command = '';
  space();
  while (at < data.length) {
    const letter = data[at]!;
    if (/[a-z]/i.test(letter)) {
      if (ARGUMENTS[letter.toLowerCase()] === undefined) return `there is no command ${letter} (at ${at})`;
      command = letter;
      at += 1;
      space();
    } else if (command === '' || command === 'z' || command === 'Z') return `a command is missing at ${at}`;
    if (segments.length === 0 && command.toLowerCase() !== 'm') return 'it does not begin with m';
    if (segments.length === SCENE_LIMITS.pathSegments) return `it has more than ${SCENE_LIMITS.pathSegments} segments`;
    const values: number[] = [];
    const kind = command.toLowerCase();
    for (let index = 0; index < ARGUMENTS[kind]!; index += 1) {
      // The two flags of an arc are one digit each, and may stand together.
      const flag = kind === 'a' && (index === 3 || index === 4);
      NUMBER.lastIndex = at;
      const found = flag ? (/[01]/.exec(data[at] ?? '')?.[0] ?? undefined) : NUMBER.exec(data)?.[0];
      if (found === undefined) return `command ${command} lacks a number at ${at}`;
      if (Math.abs(Number(found)) > FARTHEST) return `the number ${found.slice(0, 24)} at ${at} leads too far`;
      values.push(Number(found));
      at += found.length;
      space();
    }
    segments.push({ command, values });
    // A pair after a move without a command is a line.
    if (command === 'm') command = 'l';
    if (command === 'M') command = 'L';
  }
  return segments.length === 0 ? 'it is empty' : segments;
}

/** Fault of the data; undefined for good data. */
export function pathProblem(data: string): string | undefined {
  const read = readPath(data);
  return typeof read === 'string' ? read : undefined;
}
