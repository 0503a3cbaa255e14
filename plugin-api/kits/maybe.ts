/** Members of `T` that may be undefined become optional ones, which `exactOptionalPropertyTypes` asks for. */
export type Maybe<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** A copy of `members` without those that are undefined: `{ id, ...maybe({ title, icon }) }`. */
export function maybe<const T extends object>(members: T): Maybe<T> {
  const present: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) present[name] = value;
  return present as Maybe<T>;
}
