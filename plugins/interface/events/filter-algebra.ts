/** Sets of topics, as canonical filter segments from parseFilter(). Pure. */
type Segments = readonly string[];

/** Does `area` match every topic that `filter` matches? */
export function covers(area: Segments, filter: Segments): boolean {
  for (let i = 0; i < area.length; i++) {
    if (filter[i] === undefined) return false;
    if (area[i] === '**') return true;
    if (filter[i] === '**' || (area[i] !== '*' && area[i] !== filter[i])) return false;
  }
  return filter.length === area.length;
}

/** Is there a topic that both match? */
export function overlaps(a: Segments, b: Segments): boolean {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] === '**' || b[i] === '**') return true;
    if (a[i] !== '*' && b[i] !== '*' && a[i] !== b[i]) return false;
  }
  return a.length === b.length;
}

/** `app.<id>.event...`, where the id is two segments or more: the events that apps publish for everybody. */
export function isAppEvents(filter: Segments): boolean {
  const event = filter.indexOf('event', 3);
  return filter[0] === 'app' && event > 0 && event < filter.length - 1;
}
