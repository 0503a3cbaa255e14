/** From how many milliseconds on work of a name is slow: the longest beginning that is listed counts. */
export function slowFrom(slowMs: Readonly<Record<string, number>>, name: string): number {
  let longest = -1;
  let ms = Number.POSITIVE_INFINITY;
  for (const [beginning, bound] of Object.entries(slowMs))
    if (beginning.length > longest && name.startsWith(beginning)) {
      longest = beginning.length;
      ms = bound;
    }
  return ms;
}
