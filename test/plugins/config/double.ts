/** Definitions for a schema that is short and has 2^levels ways through it. */
export const double = (levels: number): object =>
  Object.fromEntries(
    Array.from({ length: levels }, (_, n) => [
      `d${n}`,
      n === 0
        ? { type: 'string' }
        : { anyOf: [{ $ref: `#/definitions/d${n - 1}` }, { $ref: `#/definitions/d${n - 1}` }] },
    ]),
  );
