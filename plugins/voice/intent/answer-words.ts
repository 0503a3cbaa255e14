/** Parts of an answer, in any language. */

/** `a, b and c`; `last` is the word before the last one. */
export function list(parts: readonly string[], last: string): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${last} ${parts.at(-1)}`;
}

export function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** Hours, minutes and seconds of a length, each with its name; those of which there are none are left out. */
export function partsOf(
  seconds: number,
  names: readonly [string, string, string],
): readonly (readonly [number, string])[] {
  const counts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return names.map((name, index) => [counts[index]!, name] as const).filter(([count]) => count > 0);
}
