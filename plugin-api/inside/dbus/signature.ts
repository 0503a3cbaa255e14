import { malformed } from './error.ts';

/** One complete type. `a` holds its element, `(` its members, `{` key and value. */
export interface Type {
  readonly code: string;
  readonly inner: readonly Type[];
}

const BASIC = 'ybnqiuxtdsogh';
const LONGEST = 255;
/** Depth of arrays inside each other, and of structs inside each other. */
const DEEPEST = 32;

/** Boundary on which a value of this type begins, in bytes. */
export const ALIGNMENT: Readonly<Record<string, number>> = {
  y: 1,
  g: 1,
  v: 1,
  n: 2,
  q: 2,
  b: 4,
  i: 4,
  u: 4,
  h: 4,
  s: 4,
  o: 4,
  a: 4,
  x: 8,
  t: 8,
  d: 8,
  '(': 8,
  '{': 8,
};

/** The complete types of a signature. Throws DBusError (InconsistentMessage) for one that is none. */
export function typesOf(signature: string): readonly Type[] {
  if (signature.length > LONGEST) throw malformed(`a signature of ${signature.length} characters`);
  let at = 0;
  const members = (end: string, arrays: number, structs: number): readonly Type[] => {
    const types: Type[] = [];
    while (signature[at] !== end) types.push(one(arrays, structs));
    at++;
    return types;
  };
  const one = (arrays: number, structs: number): Type => {
    const code = signature[at++] ?? '';
    if (code !== '' && (BASIC.includes(code) || code === 'v')) return { code, inner: [] };
    if (Math.max(arrays, structs) >= DEEPEST) throw malformed(`the signature ${signature} is too deep`);
    if (code === 'a' && signature[at] === '{') {
      at++;
      const inner = members('}', arrays + 1, structs + 1);
      if (inner.length !== 2 || !BASIC.includes(inner[0]!.code)) throw wrong(signature);
      return { code, inner: [{ code: '{', inner }] };
    }
    if (code === 'a') return { code, inner: [one(arrays + 1, structs)] };
    if (code !== '(') throw wrong(signature);
    const inner = members(')', arrays, structs + 1);
    if (inner.length === 0) throw wrong(signature);
    return { code, inner };
  };
  const types: Type[] = [];
  while (at < signature.length) types.push(one(0, 0));
  return types;
}

function wrong(signature: string) {
  return malformed(`${JSON.stringify(signature)} is no signature`);
}
