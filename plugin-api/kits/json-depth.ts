/** Levels of objects and arrays in a message, from its root on, that the front ends take: the code behind them works by recursion. */
export const MAX_JSON_DEPTH = 128;

/** Is a parsed JSON value nested deeper than `levels`? Works level by level, without recursion. */
export function isNestedDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const inner: unknown[] = [];
    for (const one of level) {
      if (typeof one !== 'object' || one === null) continue;
      if (depth === levels) return true;
      for (const member of Object.values(one)) if (typeof member === 'object' && member !== null) inner.push(member);
    }
    level = inner;
  }
  return false;
}
