/** Sets of topics, as canonical filter segments from parseFilter(). Pure. */
export type Segments = readonly string[];

/** Does `area` match every topic that `filter` matches? */
export function covers(area: Segments, filter: Segments): boolean {
  for (let i = 0; i < area.length; i++) {
    if (filter[i] === undefined) return false;
    if (area[i] === '**') return true;
    if (filter[i] === '**' || (area[i] !== '*' && area[i] !== filter[i])) return false;
  }
  return filter.length === area.length;
}

/** The filter of the topics that both match; undefined where there is none. */
export function intersection(a: Segments, b: Segments): Segments | undefined {
  const both: string[] = [];
  for (let i = 0; ; i++) {
    const [one, other] = [a[i], b[i]];
    if (one === undefined || other === undefined) return one === other ? both : undefined;
    if (one === '**') return [...both, ...b.slice(i)];
    if (other === '**') return [...both, ...a.slice(i)];
    if (one !== other && one !== '*' && other !== '*') return undefined;
    both.push(one === '*' ? other : one);
  }
}

/** Is there a topic that both match? */
export function overlaps(a: Segments, b: Segments): boolean {
  return intersection(a, b) !== undefined;
}
