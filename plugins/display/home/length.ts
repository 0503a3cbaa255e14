/** The length of a timer in words: `1 hour 30 minutes`. */
const UNITS = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

export function lengthText(seconds: number, locale: string): string {
  let rest = Math.round(seconds);
  const parts = UNITS.flatMap(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count === 0
      ? []
      : [new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count)];
  });
  return parts.join(' ');
}
